export type Limited<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'threw'; readonly error: string }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'interrupted' };

/** How many calls were given up and still run. */
export type Strays = { count: number };

/**
 * Runs what others wrote for `limitMs` at most. Its signal tells it to end; one that does not is left to
 * itself and counted as a stray until it does.
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
  const given = new Promise<'given up'>((resolve) => {
    if (signal.aborted) resolve('given up');
    signal.addEventListener('abort', () => resolve('given up'), { once: true });
  });
  try {
    const first = await Promise.race([outcome, given]);
    // what it throws because it was told to end is no fault of its own
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
