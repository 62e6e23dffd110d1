import type { BatchSubmitted } from '../../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import { batchDigest } from '../../../../shared/lineage/batch-digest.ts';
import { createAudit } from '../audit.ts';

/** Just what the audit reads of an event. */
export const event = (
  type: ClawLoopEvent['type'],
  id: string,
  data: object,
  subject = 'default',
): ClawLoopEvent => ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;

export const interaction = (id: string, live = true, version = 0) =>
  event('interaction.completed', id, { interactionId: id, live, adapter: 'default', key: 'mine', version });
export const completed = (id: string, data: object = {}) =>
  event('turn.completed', `${id}/completed`, {
    turnId: id,
    session: 's',
    epoch: id,
    key: 'mine',
    from: null,
    settle: 'votes',
    ...data,
  });
export const vote = (id: string) => event('vote.cast', `${id}/vote/0`, { turnId: id });
export const judged = (id: string, data: object = {}) =>
  event('judgment.reached', `${id}/judgment`, {
    turnId: id,
    score: 1,
    source: 'votes',
    by: `${id}/vote/0`,
    ...data,
  });
export const given = (id: string, key = 'mine') => event('feedback.given', id, { key });
export const feedback = (id: string, on: string, score = -1) =>
  event('turn.feedback', `${id}/feedback`, { turnId: on, given: id, score });
/** Its own reward too, where it has one. */
export const earned = (id: string, score: number, own: number | null, parent: string | null) => [
  event('feedback.given', `reward-${id}`, { key: 'mine', score: own ?? 0 }),
  event('turn.feedback', `${id}/return`, {
    ...{ turnId: id, given: `reward-${id}`, score, return: { own, parent, discount: 0.9 } },
  }),
];
export const trained = (id: string, version = 0): readonly ClawLoopEvent[] => [
  interaction(id, true, version),
  completed(id),
  vote(id),
  judged(id),
  event('sample.ready', `${id}/ready`, { sampleId: id, version }),
];
export const batch = (n: number, parent: number, ...samples: string[]) =>
  event('batch.submitted', `b${n}`, {
    batchId: `b${n}`,
    n,
    parent,
    size: 1,
    maxStaleness: 1,
    samples: samples.map((sampleId) => ({ sampleId })),
  });
/** A step from a batch: that of the log, or another one; undefined: it does not say from which. */
export const stepped = (n: number, from: ClawLoopEvent | undefined): ClawLoopEvent => ({
  ...event('policy.trained', `b${n}/trained`, {
    batchId: `b${n}`,
    version: n,
    ...(from && { batchDigest: batchDigest((from as BatchSubmitted).data) }),
  }),
  dataschema: 'clawloop:policy.trained:2',
});
export const promoted = (n: number, from: number) =>
  event('policy.promoted', `b${n}/promoted`, { batchId: `b${n}`, from, to: n });

/** What the audit says of a log of these facts. */
export const audit = (...events: readonly (ClawLoopEvent | readonly ClawLoopEvent[])[]) => {
  const ledger = createAudit();
  for (const one of events.flat()) ledger.on(one);
  return ledger.report();
};
