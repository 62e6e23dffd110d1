import { describe, expect, test } from 'vitest';
import { testDrops } from './job-queue-drops.ts';
import { aborted, jobQueueHarness, jobs, type OpenJobQueue, until } from './job-queue-harness.ts';

/** What every JobQueue guarantees. `open` makes an empty queue; a name is used once. */
export function jobQueueContract(name: string, open: OpenJobQueue): void {
  const { openQueue, startWork } = jobQueueHarness(open);

  describe(`JobQueue: ${name}`, () => {
    test('runs every job with its data, also those added before there was a worker', async () => {
      const queue = await openQueue();
      const ran: string[] = [];
      await queue.add(jobs('a', 'b'));
      expect(await queue.counts()).toEqual({ waiting: 2, running: 0, delayed: 0, failed: 0 });
      startWork(queue, async (job) => void ran.push(`${job.id} ${job.data.of} ${job.attempt}`));
      await queue.add(jobs('c'));
      await until(() => expect(ran.sort()).toEqual(['a a 1', 'b b 1', 'c c 1']));
      await until(async () =>
        expect(await queue.counts()).toEqual({ waiting: 0, running: 0, delayed: 0, failed: 0 }),
      );
    });

    test('an id that waits or runs is not added twice; a finished one can be added again', async () => {
      const queue = await openQueue();
      let runs = 0;
      let release = () => {};
      await queue.add(jobs('a', 'a'));
      startWork(queue, async () => {
        runs += 1;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      });
      await until(() => expect(runs).toBe(1));
      await queue.add(jobs('a'));
      expect(await queue.counts()).toMatchObject({ waiting: 0, running: 1 });
      release();
      await until(async () => expect((await queue.counts()).running).toBe(0));
      await queue.add(jobs('a'));
      await until(() => expect(runs).toBe(2));
      release();
    });

    test('never runs more jobs at once than configured', async () => {
      const queue = await openQueue();
      let running = 0;
      let most = 0;
      let done = 0;
      await queue.add(jobs(...Array.from({ length: 30 }, (_, index) => `j${index}`)));
      startWork(
        queue,
        async () => {
          running += 1;
          most = Math.max(most, running);
          await new Promise(setImmediate);
          running -= 1;
          done += 1;
        },
        3,
      );
      await until(() => expect(done).toBe(30));
      expect(most).toBe(3);
    });

    test('a failed attempt is counted and retried, each time after a longer delay', async () => {
      const queue = await openQueue({ attempts: 4, backoffMs: 20, maxBackoffMs: 1000, jitter: 0 });
      const starts: number[] = [];
      await queue.add(jobs('a'));
      startWork(queue, async ({ attempt }) => {
        starts.push(performance.now());
        if (attempt < 4) throw new Error('not yet');
      });
      await until(() => expect(starts).toHaveLength(4));
      const gaps = starts.slice(1).map((at, index) => at - starts[index]!);
      // timers may fire a millisecond early, never much
      expect(gaps[0]).toBeGreaterThanOrEqual(18);
      expect(gaps[1]).toBeGreaterThanOrEqual(38);
      expect(gaps[2]).toBeGreaterThanOrEqual(78);
      expect(await queue.failed(10)).toEqual([]);
    });

    test('a job without attempts left stays visible, blocks its id, and can be retried', async () => {
      const queue = await openQueue({ attempts: 2 });
      let broken = true;
      let runs = 0;
      await queue.add(jobs('a'));
      startWork(queue, async () => {
        runs += 1;
        if (broken) throw new Error('no judge there');
      });
      await until(async () => expect((await queue.counts()).failed).toBe(1));
      expect(runs).toBe(2);
      expect(await queue.failed(10)).toEqual([
        { id: 'a', data: { of: 'a' }, attempts: 2, error: 'no judge there' },
      ]);
      await queue.add(jobs('a'));
      expect(await queue.counts()).toEqual({ waiting: 0, running: 0, delayed: 0, failed: 1 });
      broken = false;
      expect(await queue.retry('a')).toBe(true);
      await until(() => expect(runs).toBe(3));
      await until(async () => expect(await queue.failed(10)).toEqual([]));
      expect(await queue.retry('a')).toBe(false);
    });

    test('every failed job is retried, in pages, and a listing is no longer than its limit', async () => {
      const queue = await openQueue({ attempts: 1 });
      const ids = Array.from({ length: 1_200 }, (_, index) => `job-${index}`);
      let broken = true;
      const done = new Set<string>();
      await queue.add(jobs(...ids));
      startWork(
        queue,
        async ({ id }) => {
          if (broken) throw new Error('no judge there');
          done.add(id);
        },
        50,
      );
      await until(async () => expect((await queue.counts()).failed).toBe(ids.length));
      expect(await queue.failed(7)).toHaveLength(7);
      expect(await queue.failed(0)).toEqual([]);
      broken = false;
      expect(await queue.retryAll()).toBe(ids.length);
      await until(() => expect(done.size).toBe(ids.length));
      await until(async () => expect(await queue.failed(10)).toEqual([]));
      expect(await queue.retryAll()).toBe(0);
    });

    test('a job that fails again while all jobs are retried waits for the next call', async () => {
      const queue = await openQueue({ attempts: 1 });
      let runs = 0;
      await queue.add(jobs('a', 'b', 'c'));
      startWork(queue, async () => {
        runs += 1;
        throw new Error('no judge there');
      });
      await until(async () => expect((await queue.counts()).failed).toBe(3));
      expect(await queue.retryAll()).toBe(3);
      await until(async () => expect((await queue.counts()).failed).toBe(3));
      expect(runs).toBe(6);
    });

    test('an attempt that takes too long is aborted and counts as failed, while other jobs continue', async () => {
      const queue = await openQueue({ attempts: 1, timeLimitMs: 30 });
      let wasAborted = false;
      const ran: string[] = [];
      await queue.add(jobs('slow', 'b'));
      startWork(
        queue,
        async ({ id }, signal) => {
          if (id === 'slow') {
            signal.addEventListener('abort', () => {
              wasAborted = true;
            });
            await aborted(signal);
          }
          ran.push(id);
        },
        1,
      );
      await until(async () => expect((await queue.counts()).failed).toBe(1));
      expect(wasAborted).toBe(true);
      await until(() => expect(ran).toEqual(['b']));
      expect((await queue.failed(10))[0]).toMatchObject({ id: 'slow', attempts: 1 });
    });

    test('a handler that ignores its signal holds no slot, and its id never runs twice at once', async () => {
      const queue = await openQueue({ attempts: 3, timeLimitMs: 20 });
      let release = () => {};
      let stubborn = 0;
      const ran: string[] = [];
      await queue.add(jobs('stubborn', 'b'));
      startWork(
        queue,
        async ({ id, attempt }) => {
          if (id === 'stubborn' && attempt === 1) {
            stubborn += 1;
            await new Promise<void>((resolve) => {
              release = resolve;
            });
            stubborn -= 1;
          } else {
            ran.push(`${id} ${attempt} ${stubborn}`);
          }
        },
        1,
      );
      await until(() => expect(ran).toEqual(['b 1 1']));
      release();
      await until(() => expect(ran).toEqual(['b 1 1', 'stubborn 2 0']));
    });

    test('when the worker ends, it aborts running jobs and waits for them; the next worker runs them again', async () => {
      const queue = await openQueue();
      let started = 0;
      let ended = 0;
      await queue.add(jobs('a', 'b', 'c'));
      const first = startWork(
        queue,
        async (_job, signal) => {
          started += 1;
          await aborted(signal).finally(() => {
            ended += 1;
          });
        },
        2,
      );
      await until(() => expect(started).toBe(2));
      await first.end();
      expect(ended).toBe(2);
      const ran: string[] = [];
      startWork(queue, async ({ id, attempt }) => void ran.push(`${id} ${attempt}`));
      await until(() => expect(ran.sort()).toEqual(['a 1', 'b 1', 'c 1']));
    });

    testDrops({ openQueue, startWork });
  });
}
