import { expect, test } from 'vitest';
import { sumUp } from './hearing.ts';
import type { Reaction } from './session.ts';

test('verdicts are compared with what was meant, hints with what was complained of', () => {
  const reactions: readonly Reaction[] = [
    { id: 'a', meant: 'bad', fault: 'list' },
    { id: 'b', meant: 'bad', fault: 'list' },
    { id: 'c', meant: 'bad', fault: 'greeting' },
    { id: 'd', meant: 'bad', fault: 'content' },
    { id: 'e', meant: 'good' },
    { id: 'f', meant: 'good' },
  ];
  const verdict = (score: number | null, ...hints: readonly string[]) => ({ score, hints });
  const verdicts = new Map([
    ['a', verdict(-1, 'No lists, please.')],
    ['b', verdict(-1, 'Please use bullet points.')],
    ['c', verdict(1)],
    ['d', verdict(0)],
    ['e', verdict(1)],
    ['f', verdict(null)],
    ['nobody said a thing', verdict(-1)],
  ]);
  expect(sumUp(reactions, verdicts)).toEqual({
    ...{ complaints: 4, praise: 2, calledBad: 3, calledGood: 2 },
    ...{ badAsBad: 2, badAsGood: 1, goodAsGood: 1, hints: 1, wishes: 3 },
  });
});
