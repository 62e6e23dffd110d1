type Running = { readonly stop: AbortController; readonly returned: Promise<void> };

const dropped = new Error('the job was dropped');
const workEnded = new Error('the worker ends');

/**
 * done: the handler came through. again: the worker ended during it, which is no failed try. forgotten: the
 * queue was dropped.
 */
export type Outcome = 'done' | 'again' | 'forgotten';

/**
 * The handlers of this process that have not returned, those of overdue and forgotten attempts included.
 * BullMQ's locks keep an id from running twice at once among processes; in one process this does, also where
 * the lock is gone (an emptied Redis) and where a handler ignores its signal.
 */
export function createHandlers(timeLimitMs: number) {
  const running = new Map<string, Running>();

  const abortAll = (reason: Error): void => {
    for (const { stop } of running.values()) stop.abort(reason);
  };

  /**
   * Rejects when the attempt has failed, at the time limit at the latest, though its handler may still run.
   */
  async function run(id: string, handler: (signal: AbortSignal) => Promise<void>): Promise<Outcome> {
    const stop = new AbortController();
    const { signal } = stop;
    const cut = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => {
      // the end of the worker waits for the handler: it may come through all the same
      if (signal.reason !== workEnded) cut.reject(signal.reason);
    });
    const timer = setTimeout(() => {
      stop.abort(new DOMException(`not done within ${timeLimitMs} ms`, 'TimeoutError'));
    }, timeLimitMs);
    const work = (async () => handler(signal))();
    const returned = work
      .catch(() => undefined)
      .then(() => {
        running.delete(id);
      });
    running.set(id, { stop, returned });
    try {
      await Promise.race([work, cut.promise]);
      return 'done';
    } catch (error) {
      if (signal.reason === dropped) return 'forgotten';
      if (signal.reason === workEnded) return 'again';
      throw error instanceof Error ? error : new Error(String(error));
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    run,
    isRunning: (id: string): boolean => running.has(id),
    endWork: (): void => abortAll(workEnded),
    drop: (): void => abortAll(dropped),
    /** Resolves when every handler has returned. */
    allReturned: async (): Promise<void> => {
      await Promise.all([...running.values()].map(({ returned }) => returned));
    },
  };
}
