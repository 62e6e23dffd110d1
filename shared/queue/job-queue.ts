export type Job<Data> = {
  /** Deterministic: adding an id that is waiting, running or failed and still kept changes nothing. */
  readonly id: string;
  readonly data: Data;
};

export type Attempt<Data> = Job<Data> & {
  /** 1 for the first. */
  readonly attempt: number;
};

export type FailedJob<Data> = Job<Data> & { readonly attempts: number; readonly error: string };

export type JobQueueSettings = {
  /** tries before a job counts as failed */
  readonly attempts: number;
  /** ms before the second try; doubles from try to try */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** share of the delay that is drawn at random, 0 to 1 */
  readonly jitter: number;
  /** ms per attempt; then its signal aborts and the attempt has failed */
  readonly timeLimitMs: number;
};

export type JobCounts = {
  readonly waiting: number;
  readonly running: number;
  readonly delayed: number;
  readonly failed: number;
};

/**
 * A cache of open obligations: it may lose or repeat anything, even be flushed. What is owed is known from a
 * fold's state and added again at start, after each commit and once a minute; so a finished job is forgotten
 * and its id may be added again.
 *
 * test/contract/job-queue.ts checks: an id runs once at a time; a failed attempt is tried again with
 * exponential backoff and jitter; a time limit per attempt; failed jobs are visible and can be retried; after
 * `drop` the same ids can be added.
 */
export type JobQueue<Data> = {
  readonly name: string;
  readonly add: (jobs: readonly Job<Data>[]) => Promise<void>;
  /** Runs jobs until the signal aborts; then waits for those that run, whose own signals abort. */
  readonly work: (
    handler: (job: Attempt<Data>, signal: AbortSignal) => Promise<void>,
    options: { readonly concurrency: number },
    signal: AbortSignal,
  ) => Promise<void>;
  readonly counts: () => Promise<JobCounts>;
  /** At most `limit` failed jobs, the oldest first. */
  readonly failed: (limit: number) => Promise<readonly FailedJob<Data>[]>;
  readonly retry: (id: string) => Promise<boolean>;
  /** Retries every job that has failed by now, however many there are; returns how many it retried. */
  readonly retryAll: () => Promise<number>;
  /** Forgets every job, running ones included (their signals abort). */
  readonly drop: () => Promise<void>;
  readonly close: () => Promise<void>;
};
