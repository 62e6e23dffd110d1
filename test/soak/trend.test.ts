import { expect, test } from 'vitest';
import { growthOf, slopeOf } from './trend.ts';

test('the slope of a line is found through outliers; a level has none', () => {
  expect(slopeOf([1, 3, 5, 7])).toBe(2);
  expect(growthOf([1, 3, 5, 7])).toBe(6);
  expect(growthOf([4, 4, 900, 4, 4, 4, 4])).toBe(0);
  expect(growthOf([7])).toBe(0);
  expect(growthOf([])).toBe(0);
});

test('a leak shows under noise larger than what leaks per sample', () => {
  const noise = [3, -2, 4, -4, 1, -1, 2, -3];
  const leaking = Array.from({ length: 24 }, (_, i) => 500 + i + noise[i % noise.length]!);
  expect(growthOf(leaking)).toBeGreaterThan(20);
  expect(Math.abs(growthOf(leaking.map((value, i) => value - i)))).toBeLessThan(2);
});
