import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';

export type LogWatch = {
  /** The first event that fits, past or future. Rejects with the reason when the signal aborts. */
  readonly next: <Event extends ClawLoopEvent>(
    fits: (event: ClawLoopEvent) => event is Event,
  ) => Promise<Event>;
  readonly done: Promise<unknown>;
};

/** Follows all topics of the loop from their beginning. */
export function watchLog(
  log: Pick<EventLog, 'follow'>,
  onEvent: (event: ClawLoopEvent) => void,
  signal: AbortSignal,
): LogWatch {
  const seen: ClawLoopEvent[] = [];
  const waiting = new Set<() => void>();
  const followings = (['conversations', 'turns', 'training'] as const).map((topic) =>
    log.follow(
      topic,
      {},
      ({ event }) => {
        seen.push(event);
        onEvent(event);
        for (const look of waiting) look();
      },
      { signal },
    ),
  );
  return {
    next: <Event extends ClawLoopEvent>(fits: (event: ClawLoopEvent) => event is Event) => {
      const { promise, resolve, reject } = Promise.withResolvers<Event>();
      const look = () => {
        const found = seen.find(fits);
        if (found !== undefined) resolve(found);
      };
      const stop = () => reject(signal.reason as Error);
      waiting.add(look);
      signal.addEventListener('abort', stop);
      look();
      if (signal.aborted) stop();
      return promise.finally(() => {
        waiting.delete(look);
        signal.removeEventListener('abort', stop);
      });
    },
    done: Promise.all(followings.map((following) => following.done)),
  };
}
