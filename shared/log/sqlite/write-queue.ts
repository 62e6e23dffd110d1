import type { DatabaseSync } from 'node:sqlite';
import { logError } from '../errors.ts';
import { isBusy } from './database.ts';
import { monotonicMs } from './protocol.ts';

/** Changes of a transaction that others wait for. */
export type Touched = { groups: boolean };

type Job = {
  readonly run: (touched: Touched) => unknown;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
};

export type WriteQueue = {
  /**
   * Runs in one transaction with all other waiting jobs (group commit), and resolves when it is durable. `run`
   * checks before it writes: if it returns, its changes are committed; if it throws, the transaction is rolled
   * back.
   */
  readonly write: <Result>(
    run: (touched: Touched) => Result,
    options: { readonly bytes?: number; readonly deadline: number },
  ) => Promise<Result>;
};

const maxJobs = 512;
const maxBytes = 8 * 2 ** 20;

export type Steps = (step: string) => void;

export type WriteQueueHooks = {
  /** Called in the transaction, before its first job. */
  readonly onBegun: () => void;
  /** Called in the transaction, after its last job. An error rolls the transaction back. */
  readonly onWritten: () => void;
  readonly onCommitted: (touched: Touched) => void;
  readonly onStep: Steps;
  /** Names the process that holds the lock, for the error. */
  readonly lockedBy: () => string;
};

export function openWriteQueue(
  db: Pick<DatabaseSync, 'exec' | 'isTransaction'>,
  { onBegun, onWritten, onCommitted, onStep, lockedBy }: WriteQueueHooks,
): WriteQueue {
  /** In order of arrival, which becomes the order of the records. */
  const waiting: Job[] = [];
  /** How many of the first jobs belong to a failed transaction: each runs alone, to find the job that fails. */
  let alone = 0;
  let timer: 'none' | 'set' = 'none';

  const schedule = (delayMs: number) => {
    if (timer === 'set') return;
    timer = 'set';
    const flush = () => {
      timer = 'none';
      flushOnce();
    };
    if (delayMs === 0) setImmediate(flush);
    else setTimeout(flush, delayMs);
  };

  function flushOnce(): void {
    expire(waiting, lockedBy);
    if (waiting.length === 0) return;
    try {
      db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      // SQLite's busy handler sleeps longer each time, and starves; short random waits share the lock fairly.
      if (isBusy(error)) schedule(1 + Math.random() * 3);
      else for (const job of waiting.splice(0)) job.reject(unavailable(error));
      return;
    }
    runTransaction(takeBatch());
    if (waiting.length > 0) schedule(0);
  }

  function runTransaction(batch: readonly Job[]): void {
    const touched: Touched = { groups: false };
    const results: unknown[] = [];
    try {
      onStep('begun');
      onBegun();
      for (const job of batch) results.push(job.run(touched));
      onWritten();
      onStep('written');
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      if (batch.length === 1) batch[0]!.reject(unavailable(error));
      else {
        waiting.unshift(...batch);
        alone = batch.length;
      }
      return;
    }
    onStep('committed');
    onCommitted(touched);
    for (const [index, job] of batch.entries()) job.resolve(results[index] as never);
  }

  function takeBatch(): Job[] {
    if (alone > 0) {
      alone -= 1;
      return waiting.splice(0, 1);
    }
    return waiting.splice(0, batchSize(waiting));
  }

  return {
    write: (run, { bytes = 0, deadline }) =>
      new Promise((resolve, reject) => {
        waiting.push({ run, bytes, deadline, resolve: resolve as (result: never) => void, reject });
        schedule(0);
      }),
  };
}

/** How many of the first jobs one transaction takes. */
function batchSize(jobs: readonly Job[]): number {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(jobs.length, maxJobs) && (count === 0 || bytes < maxBytes))
    bytes += jobs[count++]!.bytes;
  return count;
}

function unavailable(error: unknown): Error {
  return logError('LogUnavailable', `the log cannot be written: ${(error as Error).message}`, error);
}

/** Rejects and removes the jobs whose deadline has passed. */
function expire(jobs: Job[], lockedBy: () => string): void {
  const now = monotonicMs();
  if (!jobs.some((job) => job.deadline <= now)) return;
  for (const job of jobs.splice(0)) {
    if (job.deadline > now) jobs.push(job);
    else job.reject(logError('LogUnavailable', `the log is locked ${lockedBy()}`));
  }
}
