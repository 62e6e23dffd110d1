import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { turnOfSample } from '../../shared/events/sample-id.ts';

/**
 * Which events belong to one session. Few name it: votes name a turn, a batch its samples, a step its batch.
 * So what was read is remembered, and a fact belongs when what it names does.
 */
export type SessionTrail = {
  /** Remembers what the event says of the session; to be told causes before what follows from them. */
  readonly learn: (event: ClawLoopEvent) => void;
  readonly has: (event: ClawLoopEvent) => boolean;
};

/** What of the events' data names a session, a turn (an interaction, a sample: one id), or a batch. */
type Names = {
  readonly session?: string | undefined;
  readonly interactionId?: string;
  readonly turnId?: string;
  readonly sampleId?: string;
  readonly batchId?: string;
  readonly samples?: readonly { readonly sampleId: string }[];
};

export function createSessionTrail(session: string): SessionTrail {
  const turns = new Set<string>();
  const batches = new Set<string>();
  const has = (event: ClawLoopEvent): boolean => {
    const names = namesOf(event);
    if (names.session === session) return true;
    const turn = turnOf(names);
    if (turn !== undefined && turns.has(turn)) return true;
    if (names.batchId !== undefined && batches.has(names.batchId)) return true;
    return names.samples?.some(({ sampleId }) => turns.has(turnOfSample(sampleId))) ?? false;
  };
  return {
    has,
    learn: (event) => {
      if (!has(event)) return;
      const names = namesOf(event);
      const turn = turnOf(names);
      if (turn !== undefined) turns.add(turn);
      if (names.batchId !== undefined) batches.add(names.batchId);
    },
  };
}

/** Some facts, such as a pause, name none of these. */
const namesOf = ({ data }: ClawLoopEvent) => data as Names;

const turnOf = ({ turnId, interactionId, sampleId }: Names) =>
  turnId ?? interactionId ?? (sampleId === undefined ? undefined : turnOfSample(sampleId));
