import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import { type Candidate, noSightings, updateSightings } from './sightings.ts';
import type { TimedFact } from './sweep-candidates.ts';

type SweeperOptions = {
  readonly candidates: (view: SubjectView) => readonly Candidate<TimedFact>[];
  readonly spanMs: number;
  /** ms after which a view that was not renewed is dropped: this process lost its partition */
  readonly staleAfterMs: number;
  readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
  /** ms, monotonic */
  readonly now: () => number;
  /** RFC 3339, for the events */
  readonly time: () => string;
};

type Watched = {
  readonly view: SubjectView;
  readonly seenAt: number;
  /** undefined: changed since the last sweep */
  readonly candidates: readonly Candidate<TimedFact>[] | undefined;
};

/**
 * Appends an event for everything that has waited long enough. Folds ignore events that are outdated when read.
 */
export function createSweeper(options: SweeperOptions) {
  const { candidates, spanMs, staleAfterMs, append, now, time } = options;
  const watched = new Map<string, Watched>();
  let sightings = noSightings;
  return {
    /** For `owed` of a fold. Called after every commit, so it must be cheap. */
    owed: (views: readonly SubjectView[]): void => {
      for (const view of views) watched.set(view.subject, { view, seenAt: now(), candidates: undefined });
    },
    /** @returns the number of appended events. Rejects if appending fails; it is retried after another span. */
    sweep: async (): Promise<number> => {
      const at = now();
      const all: Candidate<TimedFact>[] = [];
      for (const [subject, entry] of watched) {
        if (at - entry.seenAt > staleAfterMs) {
          watched.delete(subject);
          continue;
        }
        const current = entry.candidates ?? candidates(entry.view);
        watched.set(subject, { ...entry, candidates: current });
        all.push(...current);
      }
      const update = updateSightings(sightings, all, at, spanMs);
      sightings = update.sightings;
      const events = update.due.flatMap((fact) => fact(time()) ?? []);
      if (events.length > 0) await append(events);
      return events.length;
    },
  };
}
export type Sweeper = ReturnType<typeof createSweeper>;
