import { unlessAborted } from '../../shared/lang/async.ts';

export type Limited<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'threw'; readonly error: string }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'interrupted' };

/** Number of calls that were given up but still run. */
export type Strays = { count: number };

/**
 * Runs user code for at most `limitMs`, then aborts its signal. A call that continues is abandoned and counted as a
 * stray until it ends.
 */
export async function withLimit<Value>(
  run: (signal: AbortSignal) => Promise<Value> | Value,
  limitMs: number,
  stop: AbortSignal,
  strays: Strays,
): Promise<Limited<Value>> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error(`${limitMs / 1000} s are over`)), limitMs);
  const signal = AbortSignal.any([stop, over.signal]);
  let isRunning = true;
  const outcome = Promise.resolve()
    .then(() => run(signal))
    .then(
      (value): Limited<Value> => ({ kind: 'value', value }),
      (error: unknown): Limited<Value> => ({ kind: 'threw', error: messageOf(error) }),
    )
    .finally(() => (isRunning = false));
  try {
    const first = await unlessAborted(outcome, signal, () => 'given up' as const);
    // an error after the abort is not counted as thrown
    const isOver = first === 'given up' || (first.kind === 'threw' && signal.aborted);
    if (!isOver) return first;
    if (isRunning) {
      strays.count++;
      void outcome.finally(() => strays.count--);
    }
    return { kind: stop.aborted ? 'interrupted' : 'timed-out' };
  } finally {
    clearTimeout(timer);
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`;
