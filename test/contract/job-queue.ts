import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Attempt, Job, JobQueue, JobQueueSettings } from '../../shared/queue/job-queue.ts';

type Data = { readonly of: string };
type Open = (name: string, settings: JobQueueSettings) => Promise<JobQueue<Data>>;

const quick: JobQueueSettings = {
  attempts: 3,
  backoffMs: 1,
  maxBackoffMs: 8,
  jitter: 0.5,
  timeLimitMs: 20_000,
};
const jobs = (...ids: string[]): Job<Data>[] => ids.map((id) => ({ id, data: { of: id } }));
const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 20_000, interval: 2 });
const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

/** What every JobQueue keeps. `open` makes an empty queue; a name is used once. */
export function jobQueueContract(name: string, open: Open): void {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  let opened = 0;
  async function openQueue(settings: Partial<JobQueueSettings> = {}) {
    opened += 1;
    const queue = await open(`contract-${process.pid}-${opened}`, { ...quick, ...settings });
    cleanups.push(() => queue.close());
    return queue;
  }

  function startWork(
    queue: JobQueue<Data>,
    handler: (job: Attempt<Data>, signal: AbortSignal) => Promise<void>,
    concurrency = 4,
  ) {
    const stop = new AbortController();
    const done = queue.work(handler, { concurrency }, stop.signal);
    const end = async () => {
      stop.abort();
      await done;
    };
    cleanups.push(end);
    return { end };
  }

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

    test('never runs more jobs at once than it was told', async () => {
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

    test('a failed attempt is tried again, later from try to try, and counted', async () => {
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

    test('a job whose tries are used up is kept, visible, blocks its id, and can be tried again', async () => {
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

    test('what fails again while all are retried waits for the next call', async () => {
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

    test('an attempt that takes too long is aborted and has failed, while other jobs go on', async () => {
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

    test('when the worker ends, running jobs are aborted, waited for and taken up by the next one', async () => {
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

    test('the whole queue may be dropped in mid-work, again and again: what is still owed is added again', async () => {
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
        owed.delete(id); // the fact is in the log: from here on it is not owed
      });
      for (let drops = 0; drops < 8; drops += 1) {
        // However fast the worker is: more is owed than it is let do.
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
  });
}
