import { expect, test } from 'vitest';
import { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import { createHearing, sumUp } from './hearing.ts';
import type { Reaction } from './session.ts';

test('verdicts are compared with the intended reactions, hints with the complaints', () => {
  const reactions: readonly Reaction[] = [
    { id: 'a', meant: 'bad', fault: 'list' },
    { id: 'b', meant: 'bad', fault: 'list' },
    { id: 'c', meant: 'bad', fault: 'greeting' },
    { id: 'd', meant: 'bad', fault: 'content' },
    { id: 'e', meant: 'good' },
    { id: 'f', meant: 'good' },
  ];
  const verdict = (score: number | null, ...hints: readonly string[]) => ({
    score,
    hints,
    isImplicit: false,
  });
  const verdicts = new Map([
    ['a', verdict(-1, 'No lists, please.')],
    ['b', verdict(-1, 'Please use bullet points.')],
    ['c', verdict(1)],
    ['d', verdict(0)],
    ['e', verdict(1)],
    ['f', verdict(null)],
    ['nobody said a thing', verdict(-1)],
    ['nobody meant a thing', { ...verdict(1), isImplicit: true }],
  ]);
  expect(sumUp(reactions, verdicts)).toEqual({
    complaints: 4,
    praise: 2,
    calledBad: 3,
    calledGood: 2,
    badAsBad: 2,
    badAsGood: 1,
    goodAsGood: 1,
    hints: 1,
    wishes: 3,
  });
});

test('a revised judgment replaces the first, and adds its hints', () => {
  const { meant, on, sum } = createHearing();
  meant([{ id: 'a', meant: 'bad', fault: 'list' }]);
  const common = { source: 'clawloop/test', time: '2026-01-02T03:04:05.000Z' };
  const data = { turnId: 'a', lane: 'lane', votes: [], hints: [], by: 'b' };
  on(
    JudgmentReached.create({
      id: 'a/judgment',
      ...common,
      data: { ...data, score: 1, mean: 1, needs: 1, source: 'votes' },
    }),
  );
  expect(sum()).toMatchObject({ badAsGood: 1, hints: 0 });
  const revised = (n: number, score: number | null, ...hints: readonly string[]) =>
    JudgmentRevised.create({
      id: `a/judgment/${n}`,
      ...common,
      data: { ...data, n, score, hints: [...hints], source: 'feedback' },
    });
  on(revised(1, -1));
  expect(sum()).toMatchObject({ badAsBad: 1, badAsGood: 0, hints: 0 });
  on(revised(2, null, 'No lists, please.'));
  expect(sum()).toMatchObject({ badAsBad: 1, hints: 1 });
});
