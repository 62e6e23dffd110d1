import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createAudit } from './audit.ts';

/** Just what the audit reads of an event. */
const event = (type: ClawLoopEvent['type'], id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;

const interaction = (id: string, live = true) =>
  event('interaction.completed', id, { interactionId: id, live });
const trained = (id: string): readonly ClawLoopEvent[] => [
  interaction(id),
  event('turn.completed', `${id}/completed`, { turnId: id }),
  event('judgment.reached', `${id}/judgment`, { turnId: id }),
  event('sample.ready', `${id}/ready`, { sampleId: id }),
];
const batch = (n: number, parent: number, ...samples: string[]) =>
  event('batch.submitted', `b${n}`, {
    batchId: `b${n}`,
    n,
    parent,
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
  ['a fact decided twice', [...trained('a'), trained('a')[3]!], /stands 2 times/],
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
      { ...batch(1, 1), id: 'b1x', data: { ...batch(1, 1).data, batchId: 'b1x' } } as ClawLoopEvent,
    ],
    /used twice/,
  ],
  ['a batch off the head', [...trained('a'), batch(1, 3, 'a')], /starts from v3/],
  ['an outcome of no open batch', [promoted(1, 0)], /was not open/],
  [
    'a pinned version that made a turn',
    [interaction('a', false), event('turn.completed', 'a/completed', { turnId: 'a' })],
    /pinned/,
  ],
  [
    'a version loaded that was never promoted',
    [event('policy.loaded', 'l', { version: 7 })],
    /never promoted/,
  ],
])('%s breaks the law', (_, events, sentence) => {
  expect(audit(events).broken.join('\n')).toMatch(sentence);
});

test('a late outcome of a settled batch is void, not a violation', () => {
  const failed = event('policy.update-failed', 'b1/update-failed', { batchId: 'b1', reason: 'strikes' });
  const report = audit(trained('a'), batch(1, 0, 'a'), failed, promoted(1, 0), batch(2, 0));
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
    batch(3, 0),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ 'parent rolled back': 1, rollbacks: 1 });
});
