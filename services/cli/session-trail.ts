import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { namesOf, turnNamed } from '../../shared/events/names.ts';
import { turnOfSample } from '../../shared/events/sample-id.ts';

/**
 * Decides which events belong to a session. Few name it: votes name a turn, a batch its samples, a step its
 * batch. So the trail remembers turns and batches of the session, and matches events that name them.
 */
export type SessionTrail = {
  /** Remembers the event's turn and batch if it belongs to the session. Feed causes before effects. */
  readonly learn: (event: ClawLoopEvent) => void;
  readonly has: (event: ClawLoopEvent) => boolean;
};

export function createSessionTrail(session: string): SessionTrail {
  const turns = new Set<string>();
  const batches = new Set<string>();
  const has = (event: ClawLoopEvent): boolean => {
    const names = namesOf(event);
    if (names.session === session) return true;
    const turn = turnNamed(names);
    if (turn !== undefined && turns.has(turn)) return true;
    if (names.batchId !== undefined && batches.has(names.batchId)) return true;
    return names.samples?.some(({ sampleId }) => turns.has(turnOfSample(sampleId))) ?? false;
  };
  return {
    has,
    learn: (event) => {
      if (!has(event)) return;
      const names = namesOf(event);
      const turn = turnNamed(names);
      if (turn !== undefined) turns.add(turn);
      if (names.batchId !== undefined) batches.add(names.batchId);
    },
  };
}
