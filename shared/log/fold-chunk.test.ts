import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { TurnSkipped } from '../events/turn-skipped.ts';
import { defined } from '../lang/defined.ts';
import type { DeferredEvent, Fold } from './fold.ts';
import { completeEvents } from './fold-chunk.ts';

const fact = (id: string, reason: TurnSkipped['data']['reason'], rule?: string) =>
  TurnSkipped.create({
    id,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { turnId: id, lane: 'a', reason, by: 'b', ...defined({ rule }) },
  });
const fold: Fold<null> = {
  name: 'test',
  reads: 'turns',
  writes: 'turns',
  on: () => ({ changes: [], emit: [] }),
};
const needs = (id: string): DeferredEvent => ({
  reads: { partition: 0, offset: 0 },
  id,
  create: (record) => fact('made', 'side', record.id),
  gone: () => fact('made', 'record-gone'),
});
const complete = (found: ClawLoopEvent | undefined) =>
  completeEvents(fold, [needs('own')], async () => [found]);

test('a deferred fact is made from the record that it names', async () => {
  expect(await complete(fact('own', 'side'))).toMatchObject([{ data: { reason: 'side', rule: 'own' } }]);
});

test('a missing record, or another record at the position, ends the fact as record-gone', async () => {
  expect(await complete(fact('of another chat', 'side'))).toMatchObject([
    { data: { reason: 'record-gone' } },
  ]);
  expect(await complete(undefined)).toMatchObject([{ data: { reason: 'record-gone' } }]);
});
