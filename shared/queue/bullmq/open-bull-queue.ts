import { type Job as BullJob, Queue } from 'bullmq';
import { withDeadline } from '../../lang/async.ts';
import type { FailedJob, JobQueue, JobQueueSettings } from '../job-queue.ts';
import { createAdder } from './adder.ts';
import { connectRedis, disconnectRedis, type RedisAddress } from './connect-redis.ts';
import { createHandlers } from './handlers.ts';
import { fromBullId, toBullId } from './job-id.ts';
import { type WorkerTuning, workJobs } from './work-jobs.ts';

export type BullQueueOptions = RedisAddress &
  Partial<WorkerTuning> & {
    /** prefix of every key of this deployment */
    readonly prefix: string;
    readonly onReady?: () => void;
    /** failed jobs that are kept; default 10,000 */
    readonly keptFailed?: number;
  };

export type BullQueue<Data> = JobQueue<Data> & {
  /** What is missing for the queue to work; undefined when Redis answers. */
  readonly missing: () => string | undefined;
  /** For Bull Board. */
  readonly bull: Queue;
};

/** time limit of a query about the queue, ms */
const ANSWER_MS = 2000;
/** Failed jobs that are kept: a vote takes about 1 KB of Redis. */
const KEPT_FAILED = 10_000;
/** s, 7 days: what is still owed by then is long overdue */
const KEPT_FAILED_S = 7 * 86_400;
/** failed jobs per query; Redis answers in a few milliseconds */
const PAGE = 500;

/**
 * A queue on Redis with BullMQ, for any number of processes. Delivery is at least once: a job runs again if its
 * worker dies or stalls for longer than its lock. A finished job is removed; a failed one blocks its id until it
 * is retried, the queue is dropped, or newer failures push it out. The queue opens at once, even without Redis:
 * jobs and workers wait for it, `add` never rejects, and `counts`, `failed`, `retry` and `retryAll` throw if Redis does
 * not answer a query within two seconds.
 */
export async function openBullQueue<Data>(
  name: string,
  settings: JobQueueSettings,
  options: BullQueueOptions,
): Promise<BullQueue<Data>> {
  const { prefix, lockMs = 10_000, stalledCheckMs = 5_000, random = Math.random } = options;
  const onTrouble = options.onTrouble ?? (() => undefined);
  let closed = false;
  const redis = connectRedis(options, () => closed);
  redis.on('error', onTrouble);
  redis.on('ready', () => options.onReady?.());
  const bull = new Queue(name, {
    connection: redis,
    prefix,
    defaultJobOptions: {
      attempts: Math.max(1, settings.attempts),
      backoff: { type: 'custom' },
      removeOnComplete: true,
      // A removed job loses nothing: if it is still owed, its service adds it again.
      removeOnFail: { count: options.keptFailed ?? KEPT_FAILED, age: KEPT_FAILED_S },
      stackTraceLimit: 1,
    },
  });
  bull.on('error', onTrouble);
  const handlers = createHandlers(settings.timeLimitMs);
  const adder = createAdder<Data>(
    (jobs) => bull.addBulk(jobs.map(({ id, data }) => ({ name, data, opts: { jobId: toBullId(id) } }))),
    onTrouble,
  );
  let working = false;

  const failures = openFailures<Data>(bull, () => closed);

  return {
    name,
    bull,
    missing: () => (redis.status === 'ready' ? undefined : `Redis at ${new URL(options.url).host}`),
    add: adder.add,
    work: async (handler, { concurrency }, signal) => {
      if (working) throw new Error(`the queue ${name} already has a worker`);
      if (signal.aborted) return;
      working = true;
      const tuning = { lockMs, stalledCheckMs, random, onTrouble };
      try {
        await workJobs(
          { queue: bull, address: options, settings, tuning, handlers, handler, concurrency },
          signal,
        );
      } finally {
        working = false;
      }
    },
    counts: async () => {
      const counts = await answered(bull.getJobCounts('waiting', 'active', 'delayed', 'failed'));
      const { waiting = 0, active = 0, delayed = 0, failed: failedCount = 0 } = counts;
      return { waiting, running: active, delayed, failed: failedCount };
    },
    ...failures,
    drop: async () => {
      adder.clear();
      await bull.obliterate({ force: true });
      handlers.drop(); // after obliterate, so that a freed slot does not pick a forgotten job
    },
    close: async () => {
      closed = true;
      adder.close();
      await bull.close();
      await disconnectRedis(redis);
    },
  };
}

/** The failed jobs of a queue. */
function openFailures<Data>(
  bull: Queue,
  isClosed: () => boolean,
): Pick<JobQueue<Data>, 'failed' | 'retry' | 'retryAll'> {
  /** Failed jobs, oldest first; undefined for a job of which only the id is left. */
  const failedPage = (start: number, count: number): Promise<readonly (BullJob | undefined)[]> =>
    answered(bull.getJobs(['failed'], start, start + count - 1, true));

  const failed = async (limit: number): Promise<readonly FailedJob<Data>[]> => {
    const jobs = limit <= 0 ? [] : await failedPage(0, limit);
    return jobs
      .filter((job) => job !== undefined)
      .map(({ id = '', data, attemptsMade, failedReason }) => ({
        id: fromBullId(id),
        data: data as Data,
        attempts: attemptsMade,
        error: failedReason,
      }));
  };

  const retryJob = async (job: BullJob): Promise<boolean> => {
    try {
      await answered(job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }));
      return true;
    } catch (error) {
      if (await answered(job.isFailed())) throw error;
      return false; // another process retried it first
    }
  };

  const retry = async (id: string): Promise<boolean> => {
    const job = await answered(bull.getJob(toBullId(id)));
    if (job === undefined || !(await answered(job.isFailed()))) return false;
    return retryJob(job);
  };

  // A retried job leaves the set of failed ones, so the next page begins at the same index. Jobs that fail
  // again during the call join at the end, beyond `left`.
  const retryAll = async (): Promise<number> => {
    let left = await answered(bull.getFailedCount());
    let start = 0;
    let retried = 0;
    while (left > 0 && !isClosed()) {
      const page = await failedPage(start, Math.min(PAGE, left));
      const jobs = page.filter((job) => job !== undefined);
      const done = await Promise.all(jobs.map(retryJob));
      retried += done.filter(Boolean).length;
      start += page.length - jobs.length;
      left -= PAGE;
    }
    return retried;
  };

  return { failed, retry, retryAll };
}

const answered = <Answer>(question: Promise<Answer>): Promise<Answer> =>
  withDeadline(question, ANSWER_MS, () => {
    throw new Error('Redis does not answer');
  });
