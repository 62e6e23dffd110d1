import type { ClawLoopEvent } from './catalogue.ts';
import { turnOfSample } from './sample-id.ts';

/** Event fields that name a session, a turn (also as interaction or sample), or a batch. */
export type Names = {
  readonly session?: string | undefined;
  readonly interactionId?: string;
  readonly turnId?: string;
  readonly sampleId?: string;
  readonly batchId?: string;
  readonly samples?: readonly { readonly sampleId: string }[];
};

/** Some events, such as a pause, name none of these. */
export const namesOf = ({ data }: ClawLoopEvent) => data as Names;

/** The turn that an event is about, under whichever name. */
export const turnNamed = ({ turnId, interactionId, sampleId }: Names): string | undefined =>
  turnId ?? interactionId ?? (sampleId === undefined ? undefined : turnOfSample(sampleId));
