import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import { type Candidate, lookAgain, noSightings } from './sightings.ts';
import type { TimedFact } from './sweep-candidates.ts';

export type SweeperOptions = {
  readonly candidates: (view: SubjectView) => readonly Candidate<TimedFact>[];
  readonly spanMs: number;
  /** Views that were not handed in again for so long belong to a partition that was lost. */
  readonly staleAfterMs: number;
  readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
  /** ms, monotonic */
  readonly now: () => number;
  /** RFC 3339, for the facts */
  readonly time: () => string;
};

type Watched = {
  readonly view: SubjectView;
  readonly seenAt: number;
  /** undefined: touched since the last look */
  readonly candidates: readonly Candidate<TimedFact>[] | undefined;
};

/** Says what has waited long enough. A fold ignores what is out of date by the time that it is read. */
export function createSweeper(options: SweeperOptions) {
  const { candidates, spanMs, staleAfterMs, append, now, time } = options;
  const watched = new Map<string, Watched>();
  let sightings = noSightings;
  return {
    /** For `owed`: cheap, since it is called after every commit. */
    owed: (views: readonly SubjectView[]): void => {
      for (const view of views) watched.set(view.subject, { view, seenAt: now(), candidates: undefined });
    },
    /** One look. Rejects when the facts could not be appended; the next look after a span says them again. */
    sweep: async (): Promise<number> => {
      const at = now();
      const all: Candidate<TimedFact>[] = [];
      for (const [subject, one] of watched) {
        if (at - one.seenAt > staleAfterMs) {
          watched.delete(subject);
          continue;
        }
        const found = one.candidates ?? candidates(one.view);
        watched.set(subject, { ...one, candidates: found });
        all.push(...found);
      }
      const look = lookAgain(sightings, all, at, spanMs);
      sightings = look.sightings;
      const facts = look.due.flatMap((fact) => fact(time()) ?? []);
      if (facts.length > 0) await append(facts);
      return facts.length;
    },
  };
}
export type Sweeper = ReturnType<typeof createSweeper>;
