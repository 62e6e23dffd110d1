import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { applyHead, type HeadState, initialHead } from '../../../shared/lineage/head.ts';

/** Samples of one adapter that no finished batch has taken. */
export type WaitingSamples = {
  readonly on: (event: ClawLoopEvent) => void;
  /** How many: of each session that trains as a whole, and of others. */
  readonly waiting: () => { readonly sessions: readonly number[]; readonly single: number };
  /** How many of each session that trains as a whole. */
  readonly bySession: () => readonly SessionSamples[];
  /** Whether a batch is under way. */
  readonly trains: () => boolean;
  /** Whether a sample of that session has come, among the latest. */
  readonly hasCome: (session: string) => boolean;
  /** Versions from this one to the head, `most` or fewer; undefined: more, or none of its lineage. */
  readonly ageOf: (version: number, most: number) => number | undefined;
};

export type SessionSamples = { readonly lane: string; readonly count: number };

/** sessions */
const REMEMBERED = 10_000;

/** A fold of `training`, in memory. */
export function countWaitingSamples(adapter: string): WaitingSamples {
  /** by sample, the session that it stays with: of other keys there may be some of the same name */
  const waiting = new Map<string, { readonly lane: string; readonly session: string } | undefined>();
  const sessions = new Set<string>();
  let head: HeadState = initialHead;
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
      const before = head.open;
      head = applyHead(head, event);
      if (before !== null && head.open?.batchId !== before.batchId)
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
      const inSessions = sessions.reduce((sum, one) => sum + one, 0);
      return { sessions, single: waiting.size - inSessions };
    },
    bySession,
    trains: () => head.open !== null,
    hasCome: (session) => sessions.has(session),
    ageOf: (version, most) => {
      let at: number | null | undefined = head.head;
      for (let steps = 0; steps <= most && at != null; steps++) {
        if (at === version) return steps;
        at = head.versions[at]?.parent;
      }
      return undefined;
    },
  };
}
