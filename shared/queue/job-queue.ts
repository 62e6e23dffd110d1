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
  /** ms before the second try; doubles with each try */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** random share of the delay, 0 to 1 */
  readonly jitter: number;
  /** ms per attempt; then its signal aborts and the attempt fails */
  readonly timeLimitMs: number;
};

type JobCounts = {
  readonly waiting: number;
  readonly running: number;
  readonly delayed: number;
  readonly failed: number;
};

/**
 * A cache of open obligations. It may lose or repeat jobs, or be flushed: the state of a fold says what is owed,
 * and owed jobs are added again at start, after each commit and once a minute. A finished job is forgotten, so
 * its id may be added again.
 *
 * test/contract/job-queue.ts checks: an id runs once at a time; a failed attempt is retried with exponential
 * backoff and jitter; each attempt has a time limit; failed jobs are visible and can be retried; after `drop` the
 * same ids can be added.
 */
export type JobQueue<Data> = {
  readonly name: string;
  readonly add: (jobs: readonly Job<Data>[]) => Promise<void>;
  /** Runs jobs until the signal aborts; then aborts the running jobs and waits for them. */
  readonly work: (
    handler: (job: Attempt<Data>, signal: AbortSignal) => Promise<void>,
    options: { readonly concurrency: number },
    signal: AbortSignal,
  ) => Promise<void>;
  readonly counts: () => Promise<JobCounts>;
  /** At most `limit` failed jobs, oldest first. */
  readonly failed: (limit: number) => Promise<readonly FailedJob<Data>[]>;
  readonly retry: (id: string) => Promise<boolean>;
  /** Retries all jobs that have failed so far; returns how many. */
  readonly retryAll: () => Promise<number>;
  /** Forgets every job; signals of running ones abort. */
  readonly drop: () => Promise<void>;
  readonly close: () => Promise<void>;
};
