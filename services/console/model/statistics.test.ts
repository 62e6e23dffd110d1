import { describe, expect, test } from 'vitest';
import { difference, sayWhatIsKnown, shareOf, wilson } from './statistics.ts';

describe('the interval of a share is that of Wilson', () => {
  // Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3 (score, no continuity correction)
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('%i of %i', (good, total, low, high) => {
    const interval = wilson(good, total);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  test('nothing is known without cases, and all good ends at 1', () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
    expect(wilson(20, 20).high).toBe(1);
    expect(wilson(20, 20).low).toBeCloseTo(0.8389, 4);
  });
});

describe('the interval of a difference is that of Newcombe', () => {
  // Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10 (score, no continuity correction)
  test.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 20, -0.1611, 0.2775],
  ])('%i of %i less %i of %i', (good, total, goodBefore, totalBefore, low, high) => {
    const interval = difference(shareOf(goodBefore, totalBefore), shareOf(good, total));
    expect(interval.low).toBeCloseTo(low, 3);
    expect(interval.high).toBeCloseTo(high, 3);
  });
});

describe('the sentence says no more than the numbers', () => {
  const none = shareOf(0, 0);
  test.each([
    ['no verdict', none, none, /^No verdicts yet/],
    ['one', shareOf(1, 1), none, /^1 turn: too few to tell\.$/],
    ['twelve', shareOf(4, 9), shareOf(2, 3), /^12 turns: too few to tell\.$/],
    ['only the base', shareOf(10, 25), none, /nothing to compare yet/],
    ['few on one side', shareOf(10, 40), shareOf(4, 4), /too few to compare/],
    ['a clear gain', shareOf(10, 40), shareOf(40, 50), /better by \d+ to \d+ points: more than chance/],
    ['a clear loss', shareOf(40, 50), shareOf(10, 40), /worse by \d+ to \d+ points: more than chance/],
    ['a small gain', shareOf(20, 40), shareOf(28, 50), /may be chance/],
  ] as const)('%s', (_name, base, recent, said) => {
    expect(sayWhatIsKnown(base, recent)).toMatch(said);
  });
});
