import { setImmediate as yieldThread } from 'node:timers/promises';

/** Runs work that pauses to its end without pausing. */
export function atOnce<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Runs work that pauses; in the pauses the thread does other work. */
export async function inPieces<Result>(work: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await yieldThread();
  }
}
