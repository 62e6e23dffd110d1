import type { DatabaseSync } from 'node:sqlite';
import { logError } from '../errors.ts';
import { isBusy } from './database.ts';
import { monotonicMs } from './protocol.ts';

/** What a transaction changed that others wait for. */
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
   * Runs in one transaction with whatever else waits (group commit), and resolves when that is durable. `run`
   * checks before it writes: what it returns is committed, and what it throws undoes the transaction.
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
  /** In the transaction, before its first job. */
  readonly onBegun: () => void;
  /** In the transaction, behind its last job. What it throws undoes the transaction. */
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
  /** In the order in which they came, which is the order of their records. */
  const waiting: Job[] = [];
  /**
   * So many of the first are of a transaction that failed: which of them it was shows when each runs alone.
   */
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
    expire();
    if (waiting.length === 0) return;
    try {
      db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      // SQLite's own busy handler sleeps ever longer, and starves; short random waits share the lock fairly.
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
    let bytes = 0;
    let count = 0;
    while (count < Math.min(waiting.length, maxJobs) && (count === 0 || bytes < maxBytes))
      bytes += waiting[count++]!.bytes;
    return waiting.splice(0, count);
  }

  function expire(): void {
    const now = monotonicMs();
    if (!waiting.some((job) => job.deadline <= now)) return;
    for (const job of waiting.splice(0)) {
      if (job.deadline > now) waiting.push(job);
      else job.reject(logError('LogUnavailable', `the log is locked ${lockedBy()}`));
    }
  }

  return {
    write: (run, { bytes = 0, deadline }) =>
      new Promise((resolve, reject) => {
        waiting.push({ run, bytes, deadline, resolve: resolve as (result: never) => void, reject });
        schedule(0);
      }),
  };
}

function unavailable(error: unknown): Error {
  return logError('LogUnavailable', `the log cannot be written: ${(error as Error).message}`, error);
}
