import { type Job as BullJob, Queue } from 'bullmq';
import type { FailedJob, JobQueue, JobQueueSettings } from '../job-queue.ts';
import { createAdder } from './adder.ts';
import { connectRedis, disconnectRedis, type RedisAddress } from './connect-redis.ts';
import { createHandlers } from './handlers.ts';
import { fromBullId, toBullId } from './job-id.ts';
import { type WorkerTuning, workJobs } from './work-jobs.ts';

export type BullQueueOptions = RedisAddress &
  Partial<WorkerTuning> & {
    /** what every key of this deployment begins with */
    readonly prefix: string;
    readonly onReady?: () => void;
  };

export type BullQueue<Data> = JobQueue<Data> & {
  /** What stands between this process and its queue; undefined when Redis answers. */
  readonly missing: () => string | undefined;
  /** For Bull Board. */
  readonly bull: Queue;
};

/** ms that a question about the queue may take */
const ANSWER_MS = 2000;
/** Failed jobs that one question reads: Redis answers it in a few milliseconds, however many have failed. */
const PAGE = 500;

/**
 * A queue on Redis by BullMQ, for any number of processes. At least once: a job whose worker died, or was
 * stopped for longer than its lock, runs again. A finished job is removed; a failed one stays until it is
 * retried or the queue is dropped, and blocks its id. Opens at once, whether Redis is there or not: jobs and
 * workers wait for it, `add` never rejects, and `counts`, `failed` and `retry` throw after two seconds, as
 * `retryAll` does when Redis leaves one of its pages unanswered for that long.
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
      removeOnFail: false,
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

  /** Failed jobs, the oldest first; undefined where only the id is left of a job. */
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
      return false; // another process was first
    }
  };

  const retry = async (id: string): Promise<boolean> => {
    const job = await answered(bull.getJob(toBullId(id)));
    if (job === undefined || !(await answered(job.isFailed()))) return false;
    return retryJob(job);
  };

  // A retried job leaves the set of failed ones, so the next page begins where this one did. What fails again
  // during the call joins the set at its end, beyond `left`.
  const retryAll = async (): Promise<number> => {
    let left = await answered(bull.getFailedCount());
    let start = 0;
    let retried = 0;
    while (left > 0 && !closed) {
      const page = await failedPage(start, Math.min(PAGE, left));
      const jobs = page.filter((job) => job !== undefined);
      const done = await Promise.all(jobs.map(retryJob));
      retried += done.filter(Boolean).length;
      start += page.length - jobs.length;
      left -= PAGE;
    }
    return retried;
  };

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
      const { waiting = 0, active = 0, delayed = 0, failed: given = 0 } = counts;
      return { waiting, running: active, delayed, failed: given };
    },
    failed,
    retry,
    retryAll,
    drop: async () => {
      adder.clear();
      await bull.obliterate({ force: true });
      handlers.drop(); // after it, so that a slot that this frees finds no forgotten job
    },
    close: async () => {
      closed = true;
      adder.close();
      await bull.close();
      await disconnectRedis(redis);
    },
  };
}

async function answered<Answer>(question: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Redis does not answer')), ANSWER_MS);
  try {
    return await Promise.race([question, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
