import { type Job as BullJob, DelayedError, type Queue, WaitingError, Worker } from 'bullmq';
import { aborted, withDeadline } from '../../lang/async.ts';
import { backoffDelay } from '../backoff.ts';
import type { Attempt, JobQueueSettings } from '../job-queue.ts';
import { connectRedis, disconnectRedis, type RedisAddress } from './connect-redis.ts';
import type { createHandlers } from './handlers.ts';
import { fromBullId } from './job-id.ts';

/** ms until an id is tried again whose last handler has not returned */
const BUSY_MS = 100;
/** ms that an ending worker waits for an unresponsive Redis */
const CLOSE_MS = 3000;
/** A dead worker does not count as a failed try, so its job may be picked up again any number of times. */
const ANY_NUMBER = 2 ** 31 - 1;

export type WorkerTuning = {
  /** ms that a lock lasts without renewal; after that the job counts as abandoned by a dead worker */
  readonly lockMs: number;
  /** ms between two checks for abandoned jobs */
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

/** Runs jobs until the signal aborts; then returns running jobs to the queue and waits for their handlers. */
export async function workJobs<Data>(work: Work<Data>, signal: AbortSignal): Promise<void> {
  const { queue, settings, tuning, handlers } = work;
  let ending = false;
  // BullMQ copies it for its blocking reads, so they too end while Redis is away
  const connection = connectRedis(work.address, () => ending);
  connection.on('error', () => undefined); // reported by the queue's connection

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
    if (outcome === 'forgotten') throw new WaitingError(); // the job no longer exists
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
  await withDeadline(closed, CLOSE_MS, () => {});
  await disconnectRedis(connection);
}

/** Returns a job to the head of the queue; the attempt does not count. */
async function again(job: BullJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
