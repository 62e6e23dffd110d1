import { expect, test } from 'vitest';
import { createBytesUnderWay } from './bytes-under-way.ts';
import { mostBodyBytes } from './request-bodies.ts';

test('each key has its own byte limit, and its first request always fits', () => {
  const underWay = createBytesUnderWay(100);
  expect(underWay.add('alice', 150)).toBe(true);
  expect(underWay.add('alice', 1)).toBe(false);
  expect(underWay.add('bob', 60)).toBe(true);
  expect(underWay.add('bob', 40)).toBe(true);
  expect(underWay.add('bob', 1)).toBe(false);
  underWay.remove('bob', 60);
  expect(underWay.add('bob', 50)).toBe(true);
  underWay.remove('alice', 150);
  expect([underWay.of('alice'), underWay.of('bob')]).toEqual([0, 90]);
});

test('the default body limit is smaller while no key is required', () => {
  expect([true, false].map((needsKey) => mostBodyBytes({ maxBodyBytes: undefined }, needsKey))).toEqual([
    16 * 2 ** 20,
    8 * 2 ** 20,
  ]);
  expect(mostBodyBytes({ maxBodyBytes: 7 }, false)).toBe(7);
});
