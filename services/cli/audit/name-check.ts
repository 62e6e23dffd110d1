import { type ClawLoopEvent, catalogue } from '../../../shared/events/catalogue.ts';
import type { NewEvent } from '../../../shared/events/define-event.ts';
import { type Audited, placeName, type ReportViolation } from './audited.ts';

type IdOf<Type extends ClawLoopEvent['type']> = (
  data: Extract<ClawLoopEvent, { readonly type: Type }>['data'],
) => string | undefined;

/** Ids that are derived from the data; undefined: an operator's, which has a random id. */
const ids: { readonly [Type in ClawLoopEvent['type']]?: IdOf<Type> } = {
  'interaction.completed': ({ interactionId }) => interactionId,
  'turn.completed': ({ turnId }) => `${turnId}/completed`,
  'turn.continued': ({ turnId }) => `${turnId}/continued`,
  'turn.skipped': ({ turnId, reason }) => `${turnId}/${reason === 'too-late' ? 'too-late' : 'skipped'}`,
  'turn.feedback': (data) => (data.return ? `${data.turnId}/return` : `${data.given}/feedback`),
  'turn.withdrawn': ({ turnId }) => `${turnId}/withdrawn`,
  'session.opened': ({ session, epoch }) => `${session}@${epoch}/opened`,
  'session.closed': ({ session, epoch }) => `${session}@${epoch}/closed`,
  'vote.cast': ({ turnId, index }) => `${turnId}/vote/${index}`,
  'hint.cast': ({ turnId, index }) => `${turnId}/hint/${index}`,
  'judgment.reached': ({ turnId }) => `${turnId}/judgment`,
  'judgment.revised': ({ turnId, n }) => `${turnId}/judgment/${n}`,
  'verdict.recorded': ({ turnId }) => `${turnId}/verdict`,
  'sample.ready': ({ sampleId }) => `${sampleId}/ready`,
  'sample.dropped': ({ sampleId, returned }) =>
    `${sampleId}/dropped${returned === undefined ? '' : `/${returned}`}`,
  'sample.withdrawn': ({ sampleId }) => `${sampleId}/withdrawn`,
  'batch.submitted': ({ batchId }) => batchId,
  'policy.trained': ({ batchId }) => `${batchId}/trained`,
  'policy.canary-started': ({ batchId }) => `${batchId}/canary`,
  'policy.canary-expired': ({ batchId }) => `${batchId}/canary-expired`,
  'policy.promoted': ({ batchId }) => `${batchId}/promoted`,
  'policy.rejected': ({ batchId }) => `${batchId}/rejected`,
  'policy.update-failed': ({ batchId }) => `${batchId}/update-failed`,
  'policy.rolled-back': ({ cause, turnId }) => (cause === 'automatic' ? `${turnId}/rolled-back` : undefined),
  'learning.paused': ({ rollback }) => (rollback === undefined ? undefined : `${rollback}/paused`),
};

type Definition = { readonly type: string; readonly create: (event: NewEvent<unknown>) => ClawLoopEvent };
const definitions = new Map(
  (catalogue as unknown as readonly Definition[]).map((definition) => [definition.type, definition]),
);

/** Checks that the id and partition key of an event match its data. */
export function createNameCheck(violation: ReportViolation) {
  return (record: Audited): void => {
    const { event } = record;
    const expected = (ids[event.type] as ((data: unknown) => string | undefined) | undefined)?.(event.data);
    if (expected !== undefined && expected !== event.id)
      violation(`${placeName(record)} is ${event.type} ${event.id}, but has the data of ${expected}`);
    const subject = definitions.get(event.type)?.create(event).subject;
    if (subject !== event.subject)
      violation(`${placeName(record)} has the key '${event.subject}', but its data belong to '${subject}'`);
  };
}
