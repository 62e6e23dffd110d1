import { expect, test } from 'vitest';
import { bytesOf, createFairCache } from './fair-cache.ts';

const kept = (cache: ReturnType<typeof createFairCache<number>>, ids: readonly string[]) =>
  ids.filter((id) => cache.get(id) !== undefined);

test('an owner over its limit loses its oldest entries', () => {
  const cache = createFairCache<number>({ bytes: 100, bytesPerOwner: 30 });
  for (const id of ['a', 'b', 'c']) cache.set(id, { owner: 'ann', value: 1, bytes: 10 });
  cache.set('a', { owner: 'ann', value: 2, bytes: 10 });
  expect(cache.set('d', { owner: 'ann', value: 1, bytes: 10 })).toEqual(['b']);
  expect(kept(cache, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
  expect([cache.get('a'), cache.bytes()]).toEqual([2, 30]);
  expect(cache.set('large', { owner: 'ann', value: 1, bytes: 31 })).toEqual(['large']);
  expect(kept(cache, ['a', 'c', 'd', 'large'])).toEqual(['a', 'c', 'd']);
});

test('a full cache evicts entries of the largest owner', () => {
  const cache = createFairCache<number>({ bytes: 50, bytesPerOwner: 40 });
  cache.set('old', { owner: 'bob', value: 1, bytes: 10 });
  const hers = ['a', 'b', 'c', 'd', 'e'];
  for (const id of hers) cache.set(id, { owner: 'ann', value: 1, bytes: 10 });
  expect(kept(cache, ['old', ...hers])).toEqual(['old', 'b', 'c', 'd', 'e']);
  cache.set('new', { owner: 'bob', value: 1, bytes: 10 });
  expect(kept(cache, ['old', 'new', ...hers])).toEqual(['old', 'new', 'c', 'd', 'e']);
  for (const id of ['old', 'new', 'none', ...hers]) cache.delete(id);
  expect(cache.bytes()).toBe(0);
});

test('the size estimate counts texts and parts, and stops at the limit', () => {
  expect(bytesOf('x'.repeat(1000))).toBeGreaterThanOrEqual(2000);
  expect(bytesOf([{ content: [{ text: 'x'.repeat(1000) }] }])).toBeGreaterThanOrEqual(2000);
  expect(bytesOf(Array(1000).fill(0))).toBeGreaterThan(10_000);
  expect(bytesOf({ a: null, b: undefined })).toBeGreaterThan(0);
  let looked = 0;
  const part = () => ({
    get text() {
      looked += 1;
      return 'x'.repeat(1000);
    },
  });
  expect(bytesOf(Array.from({ length: 1000 }, part), 100_000)).toBeLessThan(200_000);
  expect(looked).toBeLessThan(100);
});
