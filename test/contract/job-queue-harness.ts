import { afterEach, vi } from 'vitest';
import type { Attempt, Job, JobQueue, JobQueueSettings } from '../../shared/queue/job-queue.ts';

export type Data = { readonly of: string };
export type OpenJobQueue = (name: string, settings: JobQueueSettings) => Promise<JobQueue<Data>>;

const quick: JobQueueSettings = {
  attempts: 3,
  backoffMs: 1,
  maxBackoffMs: 8,
  jitter: 0.5,
  timeLimitMs: 20_000,
};
export const jobs = (...ids: string[]): Job<Data>[] => ids.map((id) => ({ id, data: { of: id } }));
export const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 20_000, interval: 2 });
export const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

/** Queues and workers of one describe block, closed after each test. `open` makes an empty queue; a name is used once. */
export function jobQueueHarness(open: OpenJobQueue) {
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
  return { openQueue, startWork };
}
