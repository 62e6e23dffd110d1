import { setImmediate as breath } from 'node:timers/promises';

/** Long work that pauses now and then. All of it at once. */
export function atOnce<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Long work that pauses now and then: in its pauses the thread does what else it has to do. */
export async function inPieces<Result>(work: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await breath();
  }
}
