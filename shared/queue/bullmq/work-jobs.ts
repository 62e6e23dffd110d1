import { type Job as BullJob, DelayedError, type Queue, WaitingError, Worker } from 'bullmq';
import { backoffDelay } from '../backoff.ts';
import type { Attempt, JobQueueSettings } from '../job-queue.ts';
import { connectRedis, disconnectRedis, type RedisAddress } from './connect-redis.ts';
import type { createHandlers } from './handlers.ts';
import { fromBullId } from './job-id.ts';

/** ms until an id is looked at again whose last handler has not returned */
const BUSY_MS = 100;
/** ms that the end of a worker waits for a Redis that hangs */
const CLOSE_MS = 3000;
/** A worker that died is no failed try: its job is taken up again however often that happens. */
const ANY_NUMBER = 2 ** 31 - 1;

export type WorkerTuning = {
  /** ms that a job is held without a renewal; after it the job counts as left behind by a dead worker */
  readonly lockMs: number;
  /** ms between two looks for jobs that were left behind */
  readonly stalledCheckMs: number;
  readonly random: () => number;
  readonly onTrouble: (error: Error) => void;
};

type Work<Data> = {
  readonly queue: Queue;
  readonly address: RedisAddress;
  readonly settings: JobQueueSettings;
  readonly tuning: WorkerTuning;
  readonly handlers: ReturnType<typeof createHandlers>;
  readonly handler: (job: Attempt<Data>, signal: AbortSignal) => Promise<void>;
  readonly concurrency: number;
};

/** Runs jobs until the signal aborts; then hands back those that run and waits for their handlers. */
export async function workJobs<Data>(work: Work<Data>, signal: AbortSignal): Promise<void> {
  const { queue, settings, tuning, handlers } = work;
  let ending = false;
  // BullMQ copies it for its blocking reads, with its way to end while Redis is away
  const connection = connectRedis(work.address, () => ending);
  connection.on('error', () => undefined); // the queue's connection tells it

  const run = async (job: BullJob, token = ''): Promise<void> => {
    const id = fromBullId(job.id ?? '');
    if (ending) return again(job, token);
    if (handlers.isRunning(id)) {
      await job.moveToDelayed(Date.now() + BUSY_MS, token);
      throw new DelayedError();
    }
    const attempt = { id, data: job.data as Data, attempt: job.attemptsMade + 1 };
    const outcome = await handlers.run(id, (stop) => work.handler(attempt, stop));
    if (outcome === 'again') return again(job, token);
    if (outcome === 'forgotten') throw new WaitingError(); // nothing is left of it that could be moved
  };

  const worker = new Worker(queue.name, run, {
    connection,
    prefix: queue.opts.prefix ?? '',
    concurrency: work.concurrency,
    lockDuration: tuning.lockMs,
    stalledInterval: tuning.stalledCheckMs,
    maxStalledCount: ANY_NUMBER,
    runRetryDelay: 1000,
    settings: {
      backoffStrategy: (tries) => Math.round(backoffDelay(settings, tries, tuning.random())),
    },
  });
  worker.on('error', tuning.onTrouble);

  await aborted(signal);
  ending = true;
  const closed = worker.close();
  handlers.endWork();
  await handlers.allReturned();
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, CLOSE_MS);
  await Promise.race([closed, limit.promise]);
  clearTimeout(timer);
  await disconnectRedis(connection);
}

/** Back to the head of the line, uncounted. */
async function again(job: BullJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
