import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import { type HeadState, headTypes, openHead } from '../../../shared/lineage/head.ts';

/** Samples of one adapter that are not in a finished batch. */
export type WaitingSamples = {
  readonly on: (event: ClawLoopEvent) => void;
  /** Counts: for each session that trains as a whole, and for all others. */
  readonly waiting: () => { readonly sessions: readonly number[]; readonly single: number };
  /** Counts for each session that trains as a whole. */
  readonly bySession: () => readonly SessionSamples[];
  /** Whether a batch is being trained. */
  readonly trains: () => boolean;
  /** Whether one of the latest samples belongs to this session. */
  readonly hasCome: (session: string) => boolean;
  readonly state: () => WaitingState;
  /** Versions from this one to the head; undefined: more than `most`, or the version is not in the lineage. */
  readonly ageOf: (version: number, most: number) => number | undefined;
};

/** The state of the count, to be stored. */
export type WaitingState = {
  /** `session`: of a sample that trains with its session */
  readonly waiting: readonly {
    readonly id: string;
    readonly session?: { readonly lane: string; readonly session: string } | undefined;
  }[];
  readonly sessions: readonly string[];
};

type SessionSamples = { readonly lane: string; readonly count: number };

/** Limit of remembered sessions. */
const REMEMBERED = 10_000;

/** Types of the events that it reads. */
export const waitingTypes: ReadonlySet<string> = new Set([...headTypes, 'sample.ready', 'sample.dropped']);

/** A fold of `training`, in memory. */
export function countWaitingSamples(
  adapter: string,
  from?: WaitingState & { readonly head: HeadState },
): WaitingSamples {
  /** the session of each sample that trains with its session; lane and name, because names may repeat across keys */
  const waiting = new Map(from?.waiting.map(({ id, session }) => [id, session] as const));
  const sessions = new Set(from?.sessions);
  const head = openHead(from?.head);
  const bySession = (): readonly SessionSamples[] => {
    const counts = new Map<string, { readonly lane: string; count: number }>();
    for (const place of waiting.values()) {
      if (place === undefined) continue;
      const name = `${place.lane}/${place.session}`;
      const counted = counts.get(name) ?? { lane: place.lane, count: 0 };
      counted.count += 1;
      counts.set(name, counted);
    }
    return [...counts.values()];
  };
  return {
    on: (event) => {
      if (event.subject !== adapter) return;
      const before = head.state().open;
      head.on(event);
      if (before !== null && head.state().open?.batchId !== before.batchId)
        for (const { sampleId } of before.samples) waiting.delete(sampleId);
      if (event.type === 'sample.dropped') waiting.delete(event.data.sampleId);
      if (event.type !== 'sample.ready') return;
      const { sampleId, session, lane, following } = event.data;
      waiting.set(sampleId, following === undefined ? undefined : { lane, session });
      sessions.add(session);
      if (sessions.size > REMEMBERED) sessions.delete(sessions.values().next().value!);
    },
    waiting: () => {
      const sessions = bySession().map(({ count }) => count);
      const inSessions = sum(sessions);
      return { sessions, single: waiting.size - inSessions };
    },
    bySession,
    state: () => ({
      waiting: [...waiting].map(([id, session]) => ({ id, session })),
      sessions: [...sessions],
    }),
    trains: () => head.state().open !== null,
    hasCome: (session) => sessions.has(session),
    ageOf: (version, most) => {
      const { versions, ...state } = head.state();
      let at: number | null | undefined = state.head;
      for (let steps = 0; steps <= most && at != null; steps++) {
        if (at === version) return steps;
        at = versions[at]?.parent;
      }
      return undefined;
    },
  };
}
