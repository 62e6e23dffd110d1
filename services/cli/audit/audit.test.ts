import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createAudit } from './audit.ts';

/** Just what the audit reads of an event. */
const event = (type: ClawLoopEvent['type'], id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;

const interaction = (id: string, live = true, version = 0) =>
  event('interaction.completed', id, { interactionId: id, live, adapter: 'default', key: 'mine', version });
const completed = (id: string, data: object = {}) =>
  event('turn.completed', `${id}/completed`, {
    turnId: id,
    session: 's',
    epoch: id,
    key: 'mine',
    from: null,
    settle: 'votes',
    ...data,
  });
const vote = (id: string) => event('vote.cast', `${id}/vote/0`, { turnId: id });
const judged = (id: string, data: object = {}) =>
  event('judgment.reached', `${id}/judgment`, {
    turnId: id,
    score: 1,
    source: 'votes',
    by: `${id}/vote/0`,
    ...data,
  });
const given = (id: string, key = 'mine') => event('feedback.given', id, { key });
const feedback = (id: string, on: string, score = -1) =>
  event('turn.feedback', `${id}/feedback`, { turnId: on, given: id, score });
/** Its own reward too, where it has one. */
const earned = (id: string, score: number, own: number | null, parent: string | null) => [
  event('feedback.given', `reward-${id}`, { key: 'mine', score: own ?? 0 }),
  event('turn.feedback', `${id}/return`, {
    ...{ turnId: id, given: `reward-${id}`, score, return: { own, parent, discount: 0.9 } },
  }),
];
const trained = (id: string, version = 0): readonly ClawLoopEvent[] => [
  interaction(id, true, version),
  completed(id),
  vote(id),
  judged(id),
  event('sample.ready', `${id}/ready`, { sampleId: id, version }),
];
const batch = (n: number, parent: number, ...samples: string[]) =>
  event('batch.submitted', `b${n}`, {
    batchId: `b${n}`,
    n,
    parent,
    size: 1,
    maxStaleness: 1,
    samples: samples.map((sampleId) => ({ sampleId })),
  });
const promoted = (n: number, from: number) =>
  event('policy.promoted', `b${n}/promoted`, { batchId: `b${n}`, from, to: n });

const audit = (...events: readonly (ClawLoopEvent | readonly ClawLoopEvent[])[]) => {
  const ledger = createAudit();
  for (const one of events.flat()) ledger.on(one);
  return ledger.report();
};

test('a trained, a skipped and an open interaction balance', () => {
  const report = audit(
    trained('a'),
    interaction('b'),
    event('turn.skipped', 'b/skipped', { turnId: 'b', reason: 'side' }),
    interaction('c'),
    batch(1, 0, 'a'),
    promoted(1, 0),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({
    interactions: 3,
    'in a batch': 1,
    'not trained, with a reason': 1,
    promoted: 1,
  });
  expect(report.open).toMatchObject({
    'interactions without an outcome': 1,
    'batches without an outcome': 0,
  });
});

test('a copy of an appended fact is no second interaction', () => {
  const report = audit(trained('a'), interaction('a'));
  expect(report.counts).toMatchObject({ interactions: 1 });
  expect(report.broken).toEqual([]);
});

test.each<[string, readonly ClawLoopEvent[], RegExp]>([
  [
    'two outcomes',
    [...trained('a'), event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'side' })],
    /2 outcomes/,
  ],
  ['a fact decided twice', [...trained('a'), trained('a').at(-1)!], /stands 2 times/],
  [
    'a sample in two batches',
    [...trained('a'), batch(1, 0, 'a'), promoted(1, 0), batch(2, 1, 'a')],
    /in 2 batches/,
  ],
  ['a sample from nowhere', [batch(1, 0, 'x')], /stands nowhere/],
  [
    'two open batches',
    [...trained('a'), ...trained('b'), batch(1, 0, 'a'), batch(2, 0, 'b')],
    /while b1 was open/,
  ],
  [
    'a version number again',
    [
      ...trained('a'),
      batch(1, 0, 'a'),
      promoted(1, 0),
      { ...batch(1, 1, 'a'), id: 'b1x', data: { ...batch(1, 1, 'a').data, batchId: 'b1x' } } as ClawLoopEvent,
    ],
    /used twice/,
  ],
  ['a batch on a version that was never the head', [...trained('a'), batch(1, 3, 'a')], /starts from v3/],
  ['an outcome of no open batch', [promoted(1, 0)], /was not open/],
  ['a pinned version that made a turn', [interaction('a', false), completed('a')], /pinned/],
  [
    'a version loaded that was never promoted',
    [event('policy.loaded', 'l', { version: 7 })],
    /never promoted/,
  ],
  [
    'an answer by a version that was never promoted',
    [
      ...trained('a'),
      batch(1, 0, 'a'),
      event('policy.rejected', 'r', { batchId: 'b1' }),
      interaction('b', true, 1),
    ],
    /b was answered by v1 of default/,
  ],
  ['a small batch', [batch(1, 0)], /b1 has 0 of 1 samples, and nobody asked/],
  ['an empty batch', [event('batch.requested', 'q', { after: 0 }), batch(1, 0)], /b1 is empty/],
  [
    'a stale sample',
    [
      ...['a', 'b', 'c'].flatMap((id) => trained(id)),
      batch(1, 0, 'a'),
      promoted(1, 0),
      batch(2, 1, 'b'),
      promoted(2, 1),
      batch(3, 2, 'c'),
    ],
    /c is 2 steps old in b3, which allows 1/,
  ],
  [
    'a sample of a version that was rolled back',
    [
      ...trained('a'),
      batch(1, 0, 'a'),
      promoted(1, 0),
      ...trained('b', 1),
      event('policy.rolled-back', 'r', { from: 1, to: 0 }),
      batch(2, 0, 'b'),
    ],
    /b of v1 is off the lineage of b2/,
  ],
  [
    'a next state of another key',
    [
      interaction('a'),
      event('interaction.completed', 'b', { interactionId: 'b', live: true, key: 'other', version: 0 }),
      completed('a', { from: 'b' }),
    ],
    /next state of a comes from b/,
  ],
  [
    'a session of two keys',
    [completed('a', { epoch: 'e' }), completed('b', { epoch: 'e', key: 'other' })],
    /session s has turns of two/,
  ],
  [
    'feedback of another key',
    [interaction('a'), given('f', 'other'), completed('a'), feedback('f', 'a')],
    /feedback f on a is of another/,
  ],
  [
    'feedback that came first and did not decide',
    [interaction('a'), given('f'), completed('a'), feedback('f', 'a'), vote('a'), judged('a')],
    /did not decide/,
  ],
  [
    'feedback that decided with another score',
    [completed('a'), feedback('f', 'a'), judged('a', { source: 'feedback', by: 'f/feedback' })],
    /not with its score/,
  ],
  [
    'a turn that waits for a reward and is settled by votes',
    [completed('a', { settle: 'reward' }), vote('a'), judged('a')],
    /waits for a reward/,
  ],
  [
    'a turn that nobody rewards and that is settled by a reward',
    [completed('a'), feedback('f', 'a', 1), judged('a', { source: 'reward', by: 'f/feedback' })],
    /does not wait for a reward/,
  ],
  [
    'a return that is no sum',
    [interaction('a'), interaction('b'), ...earned('a', 0.5, null, null), ...earned('b', 1, 1, 'a')],
    /a earned 0.9 by the conversation tree, and was told 0.5/,
  ],
  [
    'a return from nowhere',
    [interaction('b'), ...earned('b', 1, 1, 'a')],
    /goes on from a, which was told no return/,
  ],
  [
    'a reward that nobody gave',
    [interaction('a'), ...earned('a', 2, 2, null).slice(1)],
    /which reward-a did not give/,
  ],
  ['a judgment by nothing', [completed('a'), judged('a')], /stands nowhere before/],
])('%s breaks the law', (_, events, sentence) => {
  expect(audit(events).broken.join('\n')).toMatch(sentence);
});

test('the last hint to come may settle a turn, as the last vote does', () => {
  const hint = event('hint.cast', 'a/hint/0', { turnId: 'a' });
  const report = audit(interaction('a'), completed('a'), vote('a'), hint, judged('a', { by: 'a/hint/0' }));
  expect(report.broken).toEqual([]);
});

test('a late outcome of a settled batch is void, not a violation', () => {
  const failed = event('policy.update-failed', 'b1/update-failed', { batchId: 'b1', reason: 'strikes' });
  const report = audit(
    trained('a'),
    batch(1, 0, 'a'),
    failed,
    promoted(1, 0),
    trained('b'),
    batch(2, 0, 'b'),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ 'update failed': 1, promoted: 0 });
});

test('a candidate whose parent was rolled back meanwhile has its outcome, and the head stays', () => {
  const report = audit(
    [...trained('a'), ...trained('b')],
    batch(1, 0, 'a'),
    promoted(1, 0),
    batch(2, 1, 'b'),
    event('policy.rolled-back', 'r', { from: 1, to: 0 }),
    promoted(2, 1),
    trained('c'),
    batch(3, 0, 'c'),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ 'parent rolled back': 1, rollbacks: 1 });
});

test('returns along the conversation tree add up', () => {
  const report = audit(
    [interaction('a'), interaction('b'), completed('a', { settle: 'reward' })],
    [completed('b', { settle: 'reward', epoch: 'a' }), ...earned('a', 0.45, null, null)],
    [...earned('b', 0.5, 0.5, 'a'), judged('a', { score: 0.45, source: 'reward', by: 'a/return' })],
    judged('b', { score: 0.5, source: 'reward', by: 'b/return' }),
  );
  expect(report.broken).toEqual([]);
});

test('feedback in time decides, later feedback is late, and both are within the law', () => {
  const report = audit(
    [interaction('a'), given('f'), given('g'), completed('a'), feedback('f', 'a')],
    judged('a', { score: -1, source: 'feedback', by: 'f/feedback' }),
    feedback('g', 'a', 1),
  );
  expect(report.broken).toEqual([]);
});

test('a batch that was formed while a rollback came is no violation, nor is a late copy of the rollback', () => {
  const rollback = event('policy.rolled-back', 'r', { from: 1, to: 0 });
  const report = audit(
    [...trained('a'), ...trained('b'), ...trained('c')],
    batch(1, 0, 'a'),
    promoted(1, 0),
    rollback,
    batch(2, 1, 'b'),
    promoted(2, 1),
    event('policy.rolled-back', 'forth', { from: 0, to: 1 }),
    rollback,
    batch(3, 1, 'c'),
    promoted(3, 1),
    event('policy.loaded', 'l', { version: 3 }),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ promoted: 2, 'parent rolled back': 1, rollbacks: 2 });
});

test('of an answer that is newer than the batches that were read nothing is said', () => {
  expect(audit(trained('a'), batch(1, 0, 'a'), promoted(1, 0), interaction('b', true, 2)).broken).toEqual([]);
});

test('what was deleted is dropped before its verdict or after it; nobody deletes what is another key’s', () => {
  const deleted = (key = 'mine') => event('response.deleted', 'a/deleted', { interactionId: 'a', key });
  const withdrawn = event('turn.withdrawn', 'a/withdrawn', { turnId: 'a', by: 'a/deleted' });
  const dropped = event('sample.dropped', 'a/dropped', { sampleId: 'a', reason: 'deleted' });
  const unavailable = { score: null, source: 'unavailable', by: 'a/withdrawn' };
  const early = [interaction('a'), deleted(), completed('a'), withdrawn, judged('a', unavailable), dropped];
  const asked = event('sample.withdrawn', 'a/withdrawn', { sampleId: 'a', reason: 'deleted' });
  const late = [deleted(), ...trained('a'), withdrawn, asked, dropped];
  for (const log of [early, late]) {
    const { broken, counts } = audit(log);
    expect(broken).toEqual([]);
    expect(counts['  deleted']).toBe(1);
  }
  expect(audit([interaction('a'), deleted('other'), completed('a'), withdrawn]).broken).toEqual([
    'a was withdrawn by a/deleted, which is of another access key',
  ]);
});
