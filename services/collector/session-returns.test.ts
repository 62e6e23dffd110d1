import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { feedback, sessionEnded, timeAt } from './testing/events.ts';
import { chain, emittedLines, end, fold, returns, rewardedAnswer } from './testing/rewarded-session.ts';
import { brief, runFold } from './testing/run-fold.ts';

test('at the end of the session every turn gets its discounted return, and none before', () => {
  expect(emittedLines([...chain, feedback({ id: 'f' }, 'c', 1)])).toEqual([
    'completed a <- and?',
    'completed b <- so?',
  ]);
  const all = fold([...chain, feedback({ id: 'f' }, 'c', 1), end], 0.5);
  expect(all.map(brief)).toEqual([
    'completed a <- and?',
    'completed b <- so?',
    'completed c <- ',
    'feedback a: 0.25',
    'feedback b: 0.5',
    'feedback c: 1',
    'closed s',
  ]);
  const facts = all.filter(({ type }) => type === 'turn.feedback');
  expect(facts.map(({ id, data }) => [id, data])).toEqual([
    [
      'a/return',
      {
        turnId: 'a',
        lane: 'lane',
        score: 0.25,
        given: 'e',
        return: { own: null, parent: null, discount: 0.5 },
      },
    ],
    [
      'b/return',
      {
        turnId: 'b',
        lane: 'lane',
        score: 0.5,
        given: 'e',
        return: { own: null, parent: 'a', discount: 0.5 },
      },
    ],
    [
      'c/return',
      {
        turnId: 'c',
        lane: 'lane',
        score: 1,
        given: 'f',
        return: { own: 1, parent: 'b', discount: 0.5 },
      },
    ],
  ]);
});

test('the last reward before the end counts; a copy of an earlier one does not', () => {
  const first = feedback({ id: 'f' }, 'c', 1);
  expect(returns([...chain, first, feedback({ id: 'g' }, 'c', -1), first, end])).toMatchObject({
    c: [-1, undefined],
  });
});

test('a reward may arrive before its interaction, while the turn is open, or after its next state', () => {
  const [a, b, c] = chain as [ClawLoopEvent, ClawLoopEvent, ClawLoopEvent];
  const f = feedback({ id: 'f' }, 'a', 0.5);
  for (const events of [
    [f, a, b, c],
    [a, f, b, c],
    [a, b, c, f],
  ])
    expect(returns([...events, end])).toEqual({
      a: [0.5, undefined],
      b: [0, undefined],
      c: [0, undefined],
    });
});

test('rewards after the end are emitted but change nothing', () => {
  const events = [...chain, feedback({ id: 'f' }, 'c', 1), end];
  expect(
    emittedLines([...events, feedback({ id: 'g' }, 'c', -1)]).slice(emittedLines(events).length),
  ).toEqual(['feedback c: -1']);
});

test('a reward of 0 is a score; without any the reason is no-reward', () => {
  expect(emittedLines([...chain, feedback({ id: 'f' }, 'c', 0), end]).slice(2)).toEqual([
    'completed c <- ',
    'feedback a: 0',
    'feedback b: 0',
    'feedback c: 0',
    'closed s',
  ]);
  expect(emittedLines([...chain, end]).slice(2)).toEqual(['skipped c: no-reward', 'closed s']);
});

test('no returns are emitted for a discarded session', () => {
  const events = [...chain, feedback({ id: 'f' }, 'c', 1), sessionEnded({ id: 'e' }, 's', { discard: true })];
  expect(emittedLines(events).slice(2)).toEqual(['skipped c: discarded', 'closed s']);
  expect(fold(events).at(-1)?.data).toMatchObject({ discard: true });
});

test('another access key cannot reward', () => {
  expect(emittedLines([...chain, feedback({ id: 'f', key: 'other' }, 'c', 1), end]).slice(2)).toEqual([
    'skipped c: no-reward',
    'closed s',
  ]);
});

test('a session that continues after its end begins without rewards', () => {
  const again = [
    ...chain,
    feedback({ id: 'f' }, 'c', 1),
    end,
    rewardedAnswer('d', 'hi|hello|and?|well|so?|yes|ok|fine'),
    sessionEnded({ id: 'e2' }, 's'),
  ];
  expect(emittedLines(again).slice(-2)).toEqual(['skipped d: no-reward', 'closed s']);
  const { rows } = runFold(attribute, again, {});
  expect([...rows.get('lane')!.entries('node')]).toEqual([]);
});

test('feedback in a session settled by votes is emitted at once, with its advantage', () => {
  const answer = rewardedAnswer('a', 'hi|hello', { settle: 'votes' });
  const events = [answer, feedback({ id: 'f' }, 'a', 1, { advantage: 2 }), sessionEnded({ id: 'e' }, 's')];
  expect(returns(events)).toEqual({ a: [1, 2] });
});

test('a long chain costs no more per turn at its end than at its beginning', () => {
  const words = Array.from({ length: 400 }, (_, index) => `w${index}`);
  const events = Array.from({ length: 200 }, (_, turn) =>
    rewardedAnswer(`t${turn}`, words.slice(0, 2 * turn + 2).join('|'), { time: timeAt(turn) }),
  );
  const { rows } = runFold(attribute, events, {});
  const sizes = [...rows.get('lane')!.entries('node/')].map(([, row]) => JSON.stringify(row).length);
  expect(Math.max(...sizes)).toBeLessThan(Math.min(...sizes) + 100);
  expect(Object.values(returns([...events, feedback({ id: 'f' }, 't199', 1), end])).flat()).toEqual(
    Array.from({ length: 200 }, () => [1, undefined]).flat(),
  );
});

test('a session may have any name, even with half a surrogate pair', () => {
  const session = 'demo-\ud800';
  const events = [
    rewardedAnswer('1', 'hi|hello', { session }),
    rewardedAnswer('2', 'hi|hello|and?|well', { session }),
    feedback({ id: 'f' }, '2', 1),
    sessionEnded({ id: 'e' }, session),
  ];
  expect(returns(events)).toEqual({ 1: [1, undefined], 2: [1, undefined] });
  const { emitted } = runFold(assemble, fold(events), { atLeastOne: true });
  expect(emitted).toEqual([]);
});
