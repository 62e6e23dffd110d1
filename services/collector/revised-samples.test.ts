import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import { TurnsForgotten } from '../../shared/events/turns-forgotten.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { assemble } from './assemble.ts';
import { submit } from './submit.ts';
import { judgment, sessionClosed, timeAt, turnCompleted, turnWithdrawn } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const fold = (events: readonly ClawLoopEvent[], method: LearningMethod = 'combine') =>
  runFold(assemble, events, { atLeastOne: true, revises: true, method });
const emittedLines = (events: readonly ClawLoopEvent[], method?: LearningMethod) =>
  fold(events, method).emitted.map(brief);

const hints = ['No lists, please.'];
const revised = (
  turnId: string,
  n: number,
  score: number | null,
  more: Partial<JudgmentRevised['data']> = {},
) =>
  JudgmentRevised.create({
    id: `${turnId}/judgment/${n}`,
    source: 'clawloop/test',
    time: timeAt(0),
    data: {
      turnId,
      lane: 'lane',
      n,
      score,
      votes: [],
      hints: [],
      by: 'b',
      source: score === null ? 'votes' : 'feedback',
      ...more,
    },
  });

const judged = (score: number) => [turnCompleted('a'), judgment('a', score)];

test('a new verdict replaces the sample that may still wait', () => {
  expect(emittedLines([...judged(1), revised('a', 1, -1), revised('a', 2, 1)])).toEqual([
    'ready a: 1',
    'withdrawn sample a',
    'ready a~1: -1',
    'withdrawn sample a~1',
    'ready a~2: 1',
  ]);
});

test('a hint after a verdict makes a second sample without a verdict', () => {
  const events = [...judged(-1), revised('a', 1, null, { hints })];
  expect(emittedLines(events)).toEqual(['ready a: -1', 'ready a~1: 0']);
  expect(fold(events).emitted[1]!.data).toMatchObject({ hints, tokens: { responseIds: [3, 4] } });
  expect(emittedLines(events, 'binary')).toEqual(['ready a: -1', 'dropped a~1: no-verdict']);
});

test('a thumb up withdraws a hint that words after a thumb down had brought', () => {
  const events = [...judged(-1), revised('a', 1, null, { hints }), revised('a', 2, 1)];
  const settings = { atLeastOne: true, revises: true, datesSamples: true, method: 'combine' } as const;
  const { emitted } = runFold(assemble, [...events, turnWithdrawn('a')], settings);
  expect(emitted.map(brief)).toEqual([
    'ready a: -1',
    'ready a~1: 0',
    'withdrawn sample a',
    'withdrawn sample a~1',
    'ready a~2: 1',
    'withdrawn sample a~2',
  ]);
  expect(emittedLines(events)).toEqual(['ready a: -1', 'ready a~1: 0', 'withdrawn sample a', 'ready a~2: 1']);
});

test('a sample says when the person reacted: at the end of its turn, or at the revision', () => {
  const later = { ...revised('a', 1, -1, { hints }), time: timeAt(7) };
  const repeated = { ...revised('a', 2, 1, { hints, repeats: true }), time: timeAt(9) };
  const settings = { atLeastOne: true, revises: true, datesSamples: true, method: 'combine' } as const;
  const { emitted } = runFold(assemble, [...judged(1), later, repeated], settings);
  const ready = emitted.flatMap(({ type, data }) => (type === 'sample.ready' ? [data] : []));
  expect(ready).toMatchObject([
    { said: turnCompleted('a').time },
    { said: timeAt(7) },
    { said: turnCompleted('a').time, repeats: true },
  ]);
});

test('an opd turn with feedback waits for words until its session ends', () => {
  const thumb = [turnCompleted('a'), judgment('a', -1, { source: 'feedback' })];
  expect(emittedLines(thumb, 'opd')).toEqual([]);
  expect(emittedLines([...thumb, revised('a', 1, null, { hints })], 'opd')).toEqual([
    'dropped a: corrected',
    'ready a~1: 0',
  ]);
  const others = [...thumb, turnCompleted('b'), judgment('b', -1, { hints })];
  expect(emittedLines([...others, sessionClosed()], 'opd')).toEqual(['ready b: -1', 'dropped a: no-hint']);
});

test('a verdict on a turn without one makes its sample', () => {
  expect(emittedLines([turnCompleted('a'), judgment('a', 0), revised('a', 1, -1)])).toEqual([
    'dropped a: corrected',
    'ready a~1: -1',
  ]);
  expect(
    emittedLines([turnCompleted('a'), judgment('a', null), sessionClosed(), revised('a', 1, 1)]),
  ).toEqual(['dropped a: unavailable', 'ready a~1: 1']);
  expect(emittedLines([...judged(1), revised('a', 1, 0)])).toEqual([
    'ready a: 1',
    'withdrawn sample a',
    'dropped a~1: no-verdict',
  ]);
});

test('a verdict on a forgotten turn is too late', () => {
  const forgotten = TurnsForgotten.create({
    id: 'f',
    source: 'clawloop/collector',
    time: timeAt(0),
    data: { lane: 'lane', last: timeAt(0), by: 'l' },
  });
  const late = revised('a', 1, 1, { adapter: 'default' });
  expect(emittedLines([...judged(-1), forgotten, late])).toEqual(['ready a: -1', 'dropped a~1: too-late']);
});

test('the soft sample of a session is corrected, too', () => {
  const events = [turnCompleted('a'), judgment('a', 0, { mean: 0.4 }), sessionClosed(), revised('a', 1, -1)];
  expect(emittedLines(events)).toEqual(['ready a: 0.4 (soft)', 'withdrawn sample a', 'ready a~1: -1']);
});

test('weak evidence is a sample with an advantage and does not replace the best turn', () => {
  const weak = { source: 'implicit', advantage: -0.25, mean: 0 } as const;
  const events = [
    turnCompleted('a'),
    turnCompleted('b'),
    judgment('a', -0.25, weak),
    judgment('b', 0, { mean: 0.3 }),
    sessionClosed(),
  ];
  expect(emittedLines(events)).toEqual(['ready a: -0.25', 'ready b: 0.3 (soft)']);
  expect(fold(events).emitted[0]!.data).toMatchObject({ advantage: -0.25, source: 'implicit' });
});

test('a withdrawal is passed on although a revised judgment left no sample: it may be in a batch', () => {
  const events = [...judged(1), revised('a', 1, 0), turnWithdrawn('a')];
  const before = ['ready a: 1', 'withdrawn sample a', 'dropped a~1: no-verdict'];
  expect(emittedLines(events)).toEqual(before);
  const settings = { atLeastOne: true, revises: true, withdrawsSpent: true, method: 'combine' } as const;
  expect(runFold(assemble, events, settings).emitted.map(brief)).toEqual([...before, 'withdrawn sample a']);
});

test('a withdrawn turn withdraws all its samples', () => {
  const events = [...judged(1), revised('a', 1, -1), revised('a', 2, null, { hints }), turnWithdrawn('a')];
  expect(emittedLines(events).slice(-2)).toEqual(['withdrawn sample a~1', 'withdrawn sample a~2']);
  expect(emittedLines([...events, revised('a', 3, 1)])).toEqual([
    ...emittedLines(events),
    'dropped a~3: deleted',
  ]);
});

test('a verdict after a withdrawal trains nothing, whatever the turn waited for', () => {
  const late = (before: readonly ClawLoopEvent[]) =>
    emittedLines([...before, turnWithdrawn('a'), revised('a', 1, -1)]);
  expect(late([turnCompleted('a')])).toEqual(['dropped a: deleted', 'dropped a~1: deleted']);
  expect(late([turnCompleted('a'), judgment('a', 0)])).toEqual([
    'dropped a: deleted',
    'dropped a~1: deleted',
  ]);
});

test('a hint with a secret makes no sample and does not retract the verdict before it', () => {
  const secret = [`Use gh${'p_'}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5 next time.`];
  expect(emittedLines([...judged(-1), revised('a', 1, null, { hints: secret })])).toEqual([
    'ready a: -1',
    'dropped a~1: secret',
  ]);
});

test('a batch has only the corrected sample; a trained one is followed by a second', () => {
  const { settings: training } = defaultTrainingSettings('claw-nano');
  const facts = fold([...judged(1), revised('a', 1, -1)]).emitted;
  const batches = (size: number) =>
    runFold(submit, facts, { size, maxStaleness: 2, training }).emitted.map(brief);
  expect(batches(2)).toEqual(['dropped a: corrected']);
  expect(batches(1)).toEqual(['batch 1 on v0: a']);
  const [first, withdrawal, second] = facts;
  const corrected = runFold(submit, [withdrawal!, second!], { size: 1, maxStaleness: 2, training });
  expect(corrected.emitted.map(brief)).toEqual(['batch 1 on v0: a~1']);
  expect(first!.type).toBe('sample.ready');
});
