import { expect, test } from 'vitest';
import { aborted, type jobQueueHarness, jobs, until } from './job-queue-harness.ts';

/** A queue may be dropped at any moment, because everything that is owed is in the log. */
export function testDrops({ openQueue, startWork }: ReturnType<typeof jobQueueHarness>): void {
  test('after a drop nothing is left: running jobs are aborted, and the same ids can be added', async () => {
    const queue = await openQueue({ attempts: 1 });
    const running = new Set<string>();
    let overlaps = 0;
    let blocked = true;
    const done: string[] = [];
    await queue.add(jobs('failed'));
    startWork(
      queue,
      async ({ id }, signal) => {
        if (id === 'failed' && blocked) throw new Error('broken');
        if (running.has(id)) overlaps += 1;
        running.add(id);
        try {
          if (blocked) await aborted(signal);
          done.push(id);
        } finally {
          await new Promise(setImmediate); // a handler takes a while to leave
          running.delete(id);
        }
      },
      2,
    );
    await until(async () => expect((await queue.counts()).failed).toBe(1));
    await queue.add(jobs('a', 'b', 'c'));
    await until(() => expect(running.size).toBe(2));
    await queue.drop();
    expect(await queue.counts()).toEqual({ waiting: 0, running: 0, delayed: 0, failed: 0 });
    blocked = false;
    await queue.add(jobs('a', 'b', 'c', 'failed'));
    await until(() => expect(done.sort()).toEqual(['a', 'b', 'c', 'failed']));
    expect(overlaps).toBe(0);
  });

  test('after repeated drops of the whole queue during work, owed jobs are added again', async () => {
    const queue = await openQueue({ attempts: 50 });
    const owed = new Set<string>();
    let made = 0;
    let attempts = 0;
    let onAttempt = (): void => undefined;
    startWork(queue, async ({ id }, signal) => {
      attempts += 1;
      onAttempt();
      await new Promise(setImmediate);
      if (attempts % 5 === 0) throw new Error('every fifth fails');
      signal.throwIfAborted();
      owed.delete(id); // the fact is in the log, so the job is no longer owed
    });
    for (let drops = 0; drops < 8; drops += 1) {
      // More jobs are owed than even a fast worker can do before the next drop.
      while (owed.size < 60) owed.add(`j${made++}`);
      const tenth = Promise.withResolvers<void>();
      const before = attempts;
      onAttempt = () => void (attempts >= before + 10 && tenth.resolve());
      await queue.add(jobs(...owed));
      await tenth.promise;
      await queue.drop();
    }
    await until(async () => {
      await queue.add(jobs(...owed));
      expect(owed.size).toBe(0);
    });
  });
}
