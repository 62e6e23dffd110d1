import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { until } from '../../e2e/harness/clawloop.ts';
import { createLedger } from './ledger.ts';

const groups = ['attribute', 'assemble', 'submit', 'judge', 'trainer'] as const;
const topics: readonly Topic[] = ['conversations', 'turns', 'training'];

/** Follows the log while faults are injected. */
export function watchLog(log: EventLog) {
  const stop = new AbortController();
  const ledger = createLedger();
  const listeners = new Set<(event: ClawLoopEvent) => void>();
  const followings = topics.map((topic) =>
    log.follow(
      topic,
      {},
      ({ event }) => {
        ledger.on(event);
        for (const listener of listeners) listener(event);
      },
      { signal: stop.signal },
    ),
  );
  for (const { done, caughtUp } of followings) for (const one of [done, caughtUp]) one.catch(() => undefined);

  /** Events that a fold has not read yet, over all folds. */
  const unread = async (): Promise<number> => {
    const lags = await Promise.all(groups.map((group) => log.lag(group)));
    return lags.flat().reduce((sum, { position, end }) => sum + end - position, 0);
  };
  return {
    ledger,
    unread,
    /** Resolves with the next event of one of these types. */
    next: (types: readonly ClawLoopEvent['type'][]): Promise<ClawLoopEvent> =>
      new Promise((resolve) => {
        const listener = (event: ClawLoopEvent) => {
          if (!types.includes(event.type)) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      }),
    /** Resolves when every fold has read everything and nothing is owed. @throws an error that lists what is open */
    settle: async (limitMs: number): Promise<void> => {
      let open: readonly string[] = [];
      const isSettled = async () => {
        const behind = await unread().catch(() => undefined);
        if (behind === undefined || behind > 0) {
          open = [`${behind ?? 'an unknown number of'} events are unread`];
          return false;
        }
        await Promise.all(followings.map((following) => following.reachEnd()));
        open = ledger.open();
        return open.length === 0;
      };
      await until('everything is settled', isSettled, limitMs).catch((error: Error) => {
        throw new Error(`${error.message}: ${open.join(', ')}`);
      });
    },
    close: async (): Promise<void> => {
      stop.abort();
      await Promise.allSettled(followings.map(({ done }) => done));
    },
  };
}
export type LogWatch = ReturnType<typeof watchLog>;
