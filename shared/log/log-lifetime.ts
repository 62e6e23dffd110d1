import { logError } from './errors.ts';

export type Lifetime = ReturnType<typeof createLifetime>;

/** Tracks the running work of an open log, and stops it on close. */
export function createLifetime() {
  const closing = new AbortController();
  const { track, settled } = createTracker();
  const closed = () => logError('LogUnavailable', 'the log is closed');
  return {
    track,
    /** @throws LogUnavailable after `close` */
    requireOpen: (): void => {
      if (closing.signal.aborted) throw closed();
    },
    /** Aborts with `signal`, and when the log closes. */
    orClosed: (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal]),
    /** Resolves when all tracked work has stopped. */
    close: async (): Promise<void> => {
      closing.abort(closed());
      await settled();
    },
  };
}

/** Remembers promises until they settle. */
export function createTracker() {
  const running = new Set<Promise<unknown>>();
  return {
    track: <Result>(promise: Promise<Result>): Promise<Result> => {
      running.add(promise);
      const remove = () => void running.delete(promise);
      promise.then(remove, remove);
      return promise;
    },
    settled: (): Promise<unknown> => Promise.allSettled(running),
  };
}
