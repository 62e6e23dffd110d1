import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import type { AssembleSettings } from './fold-settings.ts';
import { interaction, judgment, toolResult, turnCompleted, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const settings: AssembleSettings = { atLeastOne: true, method: 'combine', recordsVerdicts: true };
const verdicts = (events: readonly ClawLoopEvent[], given: Partial<AssembleSettings> = {}) =>
  runFold(assemble, events, { ...settings, ...given })
    .emitted.filter(({ type }) => type === 'verdict.recorded')
    .map(brief);

test('every judged turn has its verdict at once, also a 0 whose sample waits for the session', () => {
  const turns = ['a', 'b', 'c', 'd'].map((id) => turnCompleted(id));
  expect(
    verdicts([...turns, judgment('a', -1), judgment('b', 0), judgment('c', 1), judgment('d', null)]),
  ).toEqual(['verdict a: -1 for v0', 'verdict b: 0 for v0', 'verdict c: 1 for v0']);
});

test('it names the known wishes of the hints, and not an inferred one', () => {
  const hints = ['No lists, please. A short answer, please.', 'in my own words', 'Please be formal.'];
  const { emitted } = runFold(
    assemble,
    [turnCompleted('a'), judgment('a', -1, { hints, inferred: 'Please be formal.' })],
    settings,
  );
  expect(emitted[0]).toMatchObject({
    id: 'a/verdict',
    data: { key: 'key', wishes: ['no-list', 'shorter'] },
  });
});

test('rewards, copies and calls that only a result judges have none', () => {
  expect(
    verdicts([turnCompleted('a', 's', 'lane', 'reward'), judgment('a', 1, { source: 'reward' })]),
  ).toEqual([]);
  const again = [turnCompleted('a'), judgment('a', -1), turnCompleted('a'), judgment('a', -1)];
  expect(verdicts(again)).toHaveLength(1);
  const call = turnCompleted('a');
  const tool = { ...call, data: { ...call.data, next: [toolResult('failed')] } };
  expect(verdicts([tool, judgment('a', -1)], { carryDiscount: 0.7 })).toEqual([]);
  expect(verdicts([tool, judgment('a', -1, { source: 'feedback' })], { carryDiscount: 0.7 })).toHaveLength(1);
});

test('an answer that was cut off counts as bad for its version', () => {
  const skipped = (id: string, more: object) =>
    TurnSkipped.create({
      id: `${id}/skipped`,
      source: 'clawloop/test',
      time: '2026-01-01T00:00:00Z',
      data: { turnId: id, lane: 'lane', reason: 'truncated', by: id, ...more },
    });
  const answered = { adapter: 'default', version: 3, key: 'key' };
  expect(verdicts([skipped('a', { answered }), skipped('b', {})])).toEqual(['verdict a: -1 for v3']);
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'c', messages: [user('hi')], answer: 'a long', finishReason: 'length', version: 2 }),
      interaction({ id: 'd', messages: [user('ho')], answer: 'a tool', disconnected: true }),
    ],
    { namesVersion: true },
  );
  expect(emitted.map(({ data }) => (data as TurnSkipped['data']).answered)).toEqual([
    { adapter: 'default', version: 2, key: 'key' },
    undefined,
  ]);
});

test('logs of earlier programs fold as before', () => {
  expect(verdicts([turnCompleted('a'), judgment('a', -1)], { recordsVerdicts: undefined as never })).toEqual(
    [],
  );
});
