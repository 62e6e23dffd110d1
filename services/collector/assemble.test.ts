import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import { assemble } from './assemble.ts';
import { judgment, sessionClosed, turnCompleted, turnWithdrawn } from './testing/events.ts';
import { brief, type Run, runFold } from './testing/run-fold.ts';

const emittedLines = (events: readonly ClawLoopEvent[], atLeastOne = true, method?: LearningMethod) =>
  runFold(assemble, events, { atLeastOne, ...defined({ method }) }).emitted.map(brief);

/** All rows except the settled ids. */
const waitingIn = (rows: Run['rows']) =>
  [...rows.get('lane')!.entries('')].filter(([key]) => !key.startsWith('settled'));

test('a verdict makes a sample with everything that training needs', () => {
  const turn = turnCompleted('a');
  const { emitted } = runFold(assemble, [turn, judgment('a', -1, { hints: ['say less'] })], {
    atLeastOne: true,
  });
  expect(emitted[0]).toMatchObject({
    id: 'a/ready',
    subject: 'default',
    data: {
      verdict: -1,
      soft: false,
      hints: ['say less'],
      tokens: turn.data.tokens,
      messages: turn.data.messages,
    },
  });
});

test('a scalar reward is the verdict', () => {
  expect(emittedLines([turnCompleted('a'), judgment('a', 0.25, { source: 'feedback' })])).toEqual([
    'ready a: 0.25',
  ]);
});

test('a zero waits until its session has an effective sample', () => {
  expect(
    emittedLines([
      turnCompleted('a'),
      turnCompleted('b'),
      turnCompleted('c'),
      judgment('a', 0),
      judgment('b', 1),
      judgment('c', 0),
    ]),
  ).toEqual(['ready b: 1', 'dropped a: no-verdict', 'dropped c: no-verdict']);
});

test('a session without an effective sample contributes the largest mean vote, as a soft verdict', () => {
  const events = [
    turnCompleted('a'),
    turnCompleted('b'),
    turnCompleted('c'),
    judgment('a', 0, { mean: 0.2 }),
    judgment('b', 0, { mean: -0.4 }),
    judgment('c', 0, { mean: 0.4 }),
    sessionClosed(),
  ];
  expect(emittedLines(events)).toEqual([
    'ready b: -0.4 (soft)',
    'dropped a: no-verdict',
    'dropped c: no-verdict',
  ]);
  expect(emittedLines(events, false)).toEqual([
    'dropped a: no-verdict',
    'dropped b: no-verdict',
    'dropped c: no-verdict',
  ]);
});

test('a session of zeros only contributes nothing', () => {
  expect(emittedLines([turnCompleted('a'), judgment('a', 0), sessionClosed()])).toEqual([
    'dropped a: no-verdict',
  ]);
});

test('a session is finished only when all its turns are settled', () => {
  expect(
    emittedLines([turnCompleted('a'), turnCompleted('b'), judgment('a', 0, { mean: 0.3 }), sessionClosed()]),
  ).toEqual([]);
  expect(
    emittedLines([
      turnCompleted('a'),
      turnCompleted('b'),
      judgment('a', 0, { mean: 0.3 }),
      sessionClosed(),
      judgment('b', null),
    ]),
  ).toEqual(['dropped b: unavailable', 'ready a: 0.3 (soft)']);
});

test('a turn deleted while it waits is dropped, whatever is judged later', () => {
  const [a, b] = [turnCompleted('a'), turnCompleted('b')];
  expect(emittedLines([a, turnWithdrawn('a'), judgment('a', 1)])).toEqual(['dropped a: deleted']);
  // Its session closes without it.
  expect(emittedLines([a, b, judgment('b', 0, { mean: 0.3 }), sessionClosed(), turnWithdrawn('a')])).toEqual([
    'dropped a: deleted',
    'ready b: 0.3 (soft)',
  ]);
  const zeros = [a, b, turnCompleted('c'), judgment('a', 0, { mean: 0.2 }), judgment('b', 0, { mean: -0.4 })];
  const [ca, cb] = [turnWithdrawn('a'), turnWithdrawn('b')];
  const rest = [judgment('c', 0, { mean: 0.1 }), sessionClosed()];
  expect(emittedLines([...zeros, cb, ...rest])).toEqual([
    'dropped b: deleted',
    'ready a: 0.2 (soft)',
    'dropped c: no-verdict',
  ]);
  expect(emittedLines([...zeros, ca, cb, ...rest])).toEqual([
    'dropped a: deleted',
    'dropped b: deleted',
    'ready c: 0.1 (soft)',
  ]);
  const { rows } = runFold(assemble, [...zeros, ca, cb, ...rest], { atLeastOne: true });
  expect(waitingIn(rows)).toEqual([]);
});

test('a rewarded turn deleted while it waits for its session is dropped', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => turnCompleted(id, 's', 'lane', 'reward'));
  const given = (id: string) => judgment(id, 1, { source: 'reward' });
  const log = [a!, b!, c!, given('a'), given('b'), turnWithdrawn('a'), given('c'), sessionClosed()];
  const { emitted, rows } = runFold(assemble, log, { atLeastOne: true });
  expect(emitted.map(brief)).toEqual(['dropped a: deleted', 'ready b: 1', 'ready c: 1']);
  expect(emitted.map(({ data }) => (data as { following?: number }).following)).toEqual([undefined, 1, 0]);
  expect(waitingIn(rows)).toEqual([]);
});

test('a sample that is already ready is withdrawn in the pool', () => {
  const ready = [turnCompleted('a'), judgment('a', 1)];
  expect(emittedLines([...ready, turnWithdrawn('a')])).toEqual(['ready a: 1', 'withdrawn sample a']);
  const { adapter: _, ...data } = turnWithdrawn('a').data;
  expect(emittedLines([...ready, { ...turnWithdrawn('a'), data }])).toEqual(['ready a: 1']); // the adapter is unknown
});

test('a second judgment, or one for an uncompleted turn, is ignored', () => {
  expect(emittedLines([turnCompleted('a'), judgment('a', 1), judgment('a', -1), judgment('x', 1)])).toEqual([
    'ready a: 1',
  ]);
});

test('a finished epoch leaves no rows, and sessions do not mix', () => {
  const { emitted, rows } = runFold(
    assemble,
    [
      turnCompleted('a', 's'),
      turnCompleted('b', 's/x'),
      judgment('a', 0, { mean: 0.1 }),
      judgment('b', 1),
      sessionClosed('s/x'),
      sessionClosed('s'),
    ],
    { atLeastOne: true },
  );
  expect(emitted.map(brief)).toEqual(['ready b: 1', 'ready a: 0.1 (soft)']);
  expect(waitingIn(rows)).toEqual([]);
});

test('a hint is effective for combine and opd, a verdict for binary and combine', () => {
  const hints = ['answer without a list'];
  const turns = [
    turnCompleted('hint'),
    turnCompleted('verdict'),
    judgment('hint', 0, { hints }),
    judgment('verdict', -1),
    sessionClosed(),
  ];
  expect(emittedLines(turns, true, 'combine')).toEqual(['ready hint: 0', 'ready verdict: -1']);
  expect(emittedLines(turns, true, 'opd')).toEqual(['ready hint: 0', 'dropped verdict: no-hint']);
  expect(emittedLines(turns, true, 'binary')).toEqual(['ready verdict: -1', 'dropped hint: no-verdict']);
});

test('an adapter may have its own method', () => {
  const { emitted } = runFold(assemble, [turnCompleted('a'), judgment('a', 1)], {
    atLeastOne: true,
    method: 'combine',
    adapterMethods: { default: 'opd', other: 'binary' },
  });
  expect(emitted.map(brief)).toEqual(['dropped a: no-hint']);
});

test('opd gives no soft verdict at the end of a session', () => {
  const turns = [turnCompleted('a'), judgment('a', 0, { mean: 0.3 }), sessionClosed()];
  expect(emittedLines(turns, true, 'opd')).toEqual(['dropped a: no-hint']);
  expect(emittedLines(turns, true, 'combine')).toEqual(['ready a: 0.3 (soft)']);
});

const rewarded = (id: string) => turnCompleted(id, 's', 'lane', 'reward');

test.each(['binary', 'combine'] as const)('a reward of 0 is a sample like any other (%s)', (method) => {
  const events = [
    rewarded('a'),
    rewarded('b'),
    sessionClosed(),
    judgment('a', 0, { source: 'reward' }),
    judgment('b', 0.5, { source: 'reward', advantage: -2 }),
  ];
  expect(emittedLines(events, true, method)).toEqual(['ready a: 0', 'ready b: 0.5']);
  const { emitted, rows } = runFold(assemble, events, { atLeastOne: true, method });
  expect(emitted.map(({ data }) => data)).toMatchObject([
    { source: 'reward', soft: false },
    { source: 'reward', soft: false, advantage: -2 },
  ]);
  expect(emitted[0]!.data).not.toHaveProperty('advantage');
  expect(waitingIn(rows)).toEqual([]);
});

test('a rewarded turn without a hint is dropped by opd', () => {
  const settled = judgment('a', 1, { source: 'reward' });
  expect(emittedLines([rewarded('a'), settled], true, 'opd')).toEqual(['dropped a: no-hint']);
});

test('turns without a reward, or of a discarded session, name the reason', () => {
  const none = judgment('a', null);
  expect(emittedLines([rewarded('a'), sessionClosed(), none])).toEqual(['dropped a: no-reward']);
  expect(emittedLines([rewarded('a'), sessionClosed('s', { discard: true }), none])).toEqual([
    'dropped a: discarded',
  ]);
  expect(emittedLines([turnCompleted('a'), sessionClosed(), none])).toEqual(['dropped a: unavailable']);
});

test('rewards do not affect the at-least-one rule for votes', () => {
  const events = [turnCompleted('v'), rewarded('r'), judgment('v', 0, { mean: 0.3 })];
  expect(emittedLines([...events, judgment('r', 0, { source: 'reward' }), sessionClosed()])).toEqual([
    'ready r: 0',
    'ready v: 0.3 (soft)',
  ]);
});

test('a turn that broke its judge is dropped with that reason', () => {
  const events = [turnCompleted('a'), judgment('a', null, { reason: 'vote-failed' })];
  expect(runFold(assemble, events, { atLeastOne: true }).emitted.map(brief)).toEqual([
    'dropped a: vote-failed',
  ]);
});
