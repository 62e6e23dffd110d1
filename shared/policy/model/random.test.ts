import { expect, test } from 'vitest';
import { createRandom, normal, xoshiro128Bits } from './random.ts';

test('matches the published output of xoshiro128** for the state 1, 2, 3, 4', () => {
  const published = [
    11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
  ];
  expect(Array.from({ length: 10 }, xoshiro128Bits(1, 2, 3, 4))).toEqual(published);
});

test('equal seeds give equal numbers; a number and its digits are the same seed', () => {
  const first = (seed: number | string) => Array.from({ length: 5 }, createRandom(seed));
  expect(first('batch-1')).toEqual(first('batch-1'));
  expect(first(7)).toEqual(first('7'));
  expect(first('batch-1')).not.toEqual(first('batch-2'));
});

test('uniform numbers are uniform, normal numbers are normal', () => {
  const random = createRandom('moments');
  const count = 50_000;
  const uniform = Array.from({ length: count }, random);
  expect(uniform.every((value) => value >= 0 && value < 1)).toBe(true);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const standardError = 1 / Math.sqrt(12 * count);
  expect(Math.abs(mean(uniform) - 0.5)).toBeLessThan(4 * standardError);
  expect(mean(uniform.map((value) => value ** 2))).toBeCloseTo(1 / 3, 2);
  const gaussian = Array.from({ length: count }, () => normal(random));
  expect(Math.abs(mean(gaussian))).toBeLessThan(4 / Math.sqrt(count));
  expect(mean(gaussian.map((value) => value ** 2))).toBeCloseTo(1, 1);
  expect(mean(gaussian.map((value) => value ** 4))).toBeCloseTo(3, 0);
});
