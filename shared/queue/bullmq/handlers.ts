import { unlessAborted } from '../../lang/async.ts';

type Running = { readonly stop: AbortController; readonly returned: Promise<void> };

const dropped = new Error('the job was dropped');
const workEnded = new Error('the worker is ending');

/**
 * done: the handler succeeded. again: the worker ended during the handler, which does not count as a try.
 * forgotten: the queue was dropped.
 */
export type Outcome = 'done' | 'again' | 'forgotten';

/**
 * The handlers of this process that have not returned, including those of overdue and forgotten attempts.
 * BullMQ's locks keep an id from running twice at once in several processes. Within a process this module does,
 * even if the lock is gone (an emptied Redis) or a handler ignores its signal.
 */
export function createHandlers(timeLimitMs: number) {
  const running = new Map<string, Running>();

  const abortAll = (reason: Error): void => {
    for (const { stop } of running.values()) stop.abort(reason);
  };

  /** Rejects when the attempt fails or reaches the time limit; its handler may then still run. */
  async function run(id: string, handler: (signal: AbortSignal) => Promise<void>): Promise<Outcome> {
    const stop = new AbortController();
    const { signal } = stop;
    const timer = setTimeout(() => {
      stop.abort(new DOMException(`not finished within ${timeLimitMs} ms`, 'TimeoutError'));
    }, timeLimitMs);
    const work = (async () => handler(signal))();
    const returned = work
      .catch(() => undefined)
      .then(() => {
        running.delete(id);
      });
    running.set(id, { stop, returned });
    const onAbort = () => {
      // The ending worker waits for the handler, which may still succeed.
      if (signal.reason === workEnded) return work;
      throw signal.reason;
    };
    try {
      await unlessAborted(work, signal, onAbort);
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
