import type { BatchReturned } from '../../../../shared/events/batch-returned.ts';
import type { BatchSubmitted } from '../../../../shared/events/batch-submitted.ts';
import { type ClawLoopEvent, catalogue } from '../../../../shared/events/catalogue.ts';
import { type Topic, topics } from '../../../../shared/events/define-event.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { batchDigest, sampleDigest, samplesDigest } from '../../../../shared/lineage/batch-digest.ts';
import { defaultTrainingSettings } from '../../../../shared/policy/train/training-defaults.ts';
import { type AuditOptions, createAudit } from '../audit.ts';
import type { Audited } from '../audited.ts';
import { seedOf } from '../batch-check.ts';

type Data = Readonly<Record<string, unknown>>;
export type Facts = ClawLoopEvent | readonly Facts[];

const definitionOf = (type: ClawLoopEvent['type']) =>
  catalogue.find((definition) => definition.type === type)!;

const cost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };

/** Required fields of an event that the tests do not check. */
const defaults: Readonly<Partial<Record<ClawLoopEvent['type'], object>>> = {
  'interaction.completed': {
    requestId: 'r',
    api: 'chat',
    model: 'clawloop',
    engine: 'local',
    sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 8 },
    timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 1 },
    usage: { promptTokens: 2, completionTokens: 2 },
  },
  'turn.completed': { rule: 'conversation' },
  'vote.cast': { text: '', judge: 'test', cost },
  'hint.cast': { decision: -1, text: '', judge: 'test', cost },
  'batch.submitted': { settings: defaultTrainingSettings('claw-nano').settings },
  'batch.returned': { settings: defaultTrainingSettings('claw-nano').settings },
  'policy.trained': { fingerprint: 'test', milliseconds: 1 },
};

/** A valid event: the given data, plus required fields that the tests do not check. */
export function event(type: ClawLoopEvent['type'], id: string, data: object, time = 0): ClawLoopEvent {
  const { topic, create } = definitionOf(type);
  const place = topic === 'training' ? { adapter: 'default' } : { lane: 'l' };
  const envelope = { id, source: 'test', time: new Date(Date.UTC(2026, 0, 1) + time).toISOString() };
  const whole = { ...defaults[type], ...place, ...data };
  return (create as unknown as (event: object) => ClawLoopEvent)({ ...envelope, data: whole });
}

const messages = (id: string) => [{ role: 'user', content: `What is ${id}?` }];
const tokens = (id: string) => ({
  promptIds: [1, 2],
  responseIds: [id.length, 3],
  logProbs: [-0.5, -0.25],
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
});
const answer = { role: 'assistant', content: 'It is that.' };

export const interaction = (id: string, live = true, version = 0, data: Data = {}) =>
  event('interaction.completed', id, {
    interactionId: id,
    live,
    adapter: 'default',
    key: 'mine',
    version,
    settle: 'votes',
    messages: messages(id),
    answer,
    tokens: tokens(id),
    finishReason: 'stop',
    disconnected: false,
    ...data,
  });

/** Completed by the next request that `data.from` names, else by the end of its session. */
export function completed(id: string, data: Data & { readonly from?: string } = {}): Facts {
  const where = { session: `chat-${id}`, epoch: id, key: 'mine' };
  const turn = {
    turnId: id,
    adapter: 'default',
    version: 0,
    settle: 'votes',
    sessionBy: 'history',
    ...where,
    messages: messages(id),
    answer,
    tokens: tokens(id),
    next: [],
    from: null,
    by: data.from ?? `${id}/end`,
    ...data,
  };
  const { session, epoch, key } = turn;
  const completion = event('turn.completed', `${id}/completed`, turn);
  if (data.from !== undefined) return completion;
  return [
    event('session.ended', `${id}/end`, { key, session, reason: 'explicit' }),
    completion,
    event('session.closed', `${session}@${epoch}/closed`, { key, session, epoch, by: `${id}/end` }),
  ];
}

export const vote = (id: string, value: -1 | 0 | 1 | null = 1) =>
  event('vote.cast', `${id}/vote/0`, { turnId: id, index: 0, vote: value });

export function judged(id: string, data: Data & { readonly score?: number | null } = {}) {
  const { score = 1, source = 'votes' } = data;
  const votes = source === 'votes' ? [score] : [];
  const verdict = { score, mean: score ?? 0, source, votes, needs: 1, hints: [] };
  return event('judgment.reached', `${id}/judgment`, { turnId: id, by: `${id}/vote/0`, ...verdict, ...data });
}

export const feedback = (id: string, on: string, score = -1, key = 'mine') => [
  event('feedback.given', id, { interactionId: on, key, score }),
  event('turn.feedback', `${id}/feedback`, { turnId: on, given: id, score }),
];

/** Includes its own reward, if any. */
export const earned = (id: string, score: number, own: number | null, parent: string | null): Facts => [
  own === null ? [] : event('feedback.given', `reward-${id}`, { interactionId: id, key: 'mine', score: own }),
  event('turn.feedback', `${id}/return`, {
    turnId: id,
    given: own === null ? `${id}/end` : `reward-${id}`,
    score,
    return: { own, parent, discount: 0.9 },
  }),
];

export const ready = (id: string, data: Data = {}) =>
  event('sample.ready', `${id}/ready`, {
    sampleId: id,
    session: `chat-${id}`,
    epoch: id,
    version: 0,
    lane: 'l',
    verdict: 1,
    source: 'votes',
    soft: false,
    hints: [],
    messages: messages(id),
    tokens: tokens(id),
    ...data,
  });

export const trained = (id: string, version = 0): Facts => [
  interaction(id, true, version),
  completed(id, { version }),
  vote(id),
  judged(id),
  ready(id, { version }),
];

export const batch = (n: number, parent: number, ...samples: string[]) =>
  event('batch.submitted', `b${n}`, {
    batchId: `b${n}`,
    n,
    parent,
    size: 1,
    maxStaleness: 1,
    seed: seedOf('default', n),
    samples: samples.map((sampleId) => ({ sampleId })),
  });

/** An operator's wish that samples of batch `n` train again. */
export const returned = (n: number, ...samples: string[]) => {
  const { parent: _, ...data } = batch(n, 0, ...samples).data as BatchSubmitted['data'];
  return event('batch.returned', `return of b${n}`, { ...data, without: 0 });
};

/** Batch `n`, which trains samples of an earlier batch again. */
export const again = (n: number, parent: number, earlier: number, ...samples: string[]) => {
  const { data } = batch(n, parent, ...samples);
  return event('batch.submitted', `b${n}`, {
    ...data,
    seed: seedOf('default', earlier),
    again: `b${earlier}`,
  });
};

const made = (n: number) => ({ batchId: `b${n}`, checkpoint: `c${n}`, digest: `d${n}` });

/** A step from a batch: the batch in the log, or another; undefined: the step does not name its batch. */
export const stepped = (n: number, from: ClawLoopEvent | undefined): ClawLoopEvent =>
  event('policy.trained', `b${n}/trained`, {
    ...made(n),
    version: n,
    parent: n - 1,
    metrics: {},
    ...defined({ batchDigest: from }),
  });

/** Adds the step, unless the log has it. */
export const promoted = (n: number, from: number): Facts => [
  event('policy.trained', `b${n}/trained`, {
    ...made(n),
    version: n,
    parent: from,
    metrics: {},
    batchDigest: n,
  }),
  event('policy.promoted', `b${n}/promoted`, { ...made(n), from, to: n }),
];

/** In the order in which they were given. */
export const factsOf = (facts: Facts): readonly ClawLoopEvent[] =>
  Array.isArray(facts) ? facts.flatMap((fact: Facts) => factsOf(fact)) : [facts as ClawLoopEvent];

/** A log with these facts in one partition. Batches name the places of their samples, steps the digests. */
export function records(...facts: readonly Facts[]): readonly Audited[] {
  const ends = new Map<Topic, number>();
  const namedSteps = new Set<string>();
  const placed = factsOf(facts).flatMap((event): readonly Audited[] => {
    const { topic } = definitionOf(event.type);
    if (event.type === 'policy.trained' && namedSteps.has(event.id)) return [];
    if (event.type === 'policy.trained') namedSteps.add(event.id);
    const offset = ends.get(topic) ?? 0;
    ends.set(topic, offset + 1);
    return [{ topic, at: { partition: 0, offset }, time: Date.parse(event.time), event }];
  });
  return placed
    .map((record) => ({ ...record, event: completedWith(record.event, placed) }))
    .sort((a, b) => topics.indexOf(a.topic) - topics.indexOf(b.topic) || a.at.offset - b.at.offset);
}

function completedWith(event: ClawLoopEvent, log: readonly Audited[]): ClawLoopEvent {
  if (event.type === 'batch.submitted' || event.type === 'batch.returned') return withPlaces(event, log);
  if (event.type !== 'policy.trained' || event.data.batchDigest === undefined) return event;
  const asked = event.data.batchDigest as unknown as BatchSubmitted | number;
  const submitted = log.find(({ event: { id } }) => id === `b${asked}`)?.event;
  const from = typeof asked === 'number' ? (submitted as BatchSubmitted | undefined) : asked;
  if (from === undefined) return event;
  const batch = withPlaces(from, log);
  const samples = batch.data.samples.flatMap(({ sampleId }) => {
    const ready = log.find(({ event: { id } }) => id === `${sampleId}/ready`)?.event;
    return ready?.type === 'sample.ready' ? [sampleDigest(ready.data)] : [];
  });
  const digests = { batchDigest: batchDigest(batch.data), samplesDigest: samplesDigest(samples) };
  return { ...event, data: { ...event.data, ...digests } };
}

function withPlaces<Named extends BatchSubmitted | BatchReturned>(
  event: Named,
  log: readonly Audited[],
): Named {
  const placeOf = (sampleId: string) => log.find(({ event: { id } }) => id === `${sampleId}/ready`)?.at;
  const samples = event.data.samples.map(({ sampleId }) => ({ sampleId, at: placeOf(sampleId) }));
  return { ...event, data: { ...event.data, samples } as Named['data'] };
}

/** What the audit says of some records. */
export const auditRecords = (log: readonly Audited[], options?: AuditOptions) => {
  const ledger = createAudit(options);
  for (const record of log) ledger.on(record);
  return ledger.report();
};

/** What the audit says of a log of these facts. */
export const audit = (...facts: readonly Facts[]) => auditRecords(records(...facts));
