/**
 * Lets one task through at a time, in order. A place in the line whose signal aborts is given up at once.
 */
export function createLine() {
  let last: Promise<void> = Promise.resolve();

  return async <Result>(signal: AbortSignal, task: () => Promise<Result>): Promise<Result> => {
    const mine = Promise.withResolvers<void>();
    const before = last;
    last = before.then(() => mine.promise);
    const given = Promise.withResolvers<never>();
    const giveUp = () => given.reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([before, given.promise]);
      signal.removeEventListener('abort', giveUp);
      return await task();
    } finally {
      signal.removeEventListener('abort', giveUp);
      mine.resolve();
    }
  };
}
