import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrefixCache, type PrefixCache, type PrefixNode } from './prefix-cache.ts';

/** Stores all whole blocks of a sequence. The content of a block is the expected one: all ids up to its end. */
function remember(cache: PrefixCache<string>, root: PrefixNode<string>, ids: readonly number[]): number {
  const { blocks, node } = cache.match(root, ids);
  let at: PrefixNode<string> | undefined = node;
  let stored = blocks.length;
  while (at !== undefined && (stored + 1) * cache.blockTokens <= ids.length) {
    const end = (stored + 1) * cache.blockTokens;
    at = cache.store(at, ids.slice(end - cache.blockTokens, end), () => ids.slice(0, end).join());
    if (at !== undefined) stored += 1;
  }
  return stored;
}
const tokens = (count: number, start = 0) => Array.from({ length: count }, (_, i) => start + i);

test('the longest common beginning is found in whole blocks', () => {
  const cache = createPrefixCache<string>(4, 100);
  const root = cache.root();
  remember(cache, root, tokens(11));
  expect(cache.size).toBe(2);
  expect(cache.match(root, tokens(20)).blocks).toEqual(['0,1,2,3', '0,1,2,3,4,5,6,7']);
  expect(cache.match(root, [...tokens(6), 99, 98]).blocks).toEqual(['0,1,2,3']);
  expect(cache.match(root, [...tokens(3), 99]).blocks).toEqual([]);
  expect(cache.match(root, tokens(3)).blocks).toEqual([]);
});

test('common beginnings are stored once; roots share only room', () => {
  const cache = createPrefixCache<string>(2, 100);
  const [one, two] = [cache.root(), cache.root()];
  remember(cache, one, [1, 2, 3, 4]);
  remember(cache, one, [1, 2, 5, 6]);
  expect(cache.size).toBe(3);
  expect(cache.match(two, [1, 2, 3, 4]).blocks).toEqual([]);
  remember(cache, two, [1, 2]);
  cache.drop(one);
  expect(cache.size).toBe(1);
  expect(cache.match(one, [1, 2]).blocks).toEqual([]);
  expect(cache.match(two, [1, 2]).blocks).toEqual(['1,2']);
});

test('the least recently used branch loses blocks first, from its end', () => {
  const cache = createPrefixCache<string>(1, 4);
  const root = cache.root();
  remember(cache, root, [1, 2]);
  remember(cache, root, [8, 9]);
  cache.match(root, [1]); // 2 was used before 8 and 9, 1 after them
  remember(cache, root, [5]);
  expect(cache.match(root, [1, 2]).blocks).toEqual(['1']);
  expect(cache.match(root, [8, 9]).blocks).toEqual(['8', '8,9']);
});

test('the owner with the most blocks, over all of its roots, makes room', () => {
  const cache = createPrefixCache<string>(1, 6);
  const [old, live, other] = [cache.root('ann'), cache.root('ann'), cache.root('bob')];
  remember(cache, other, [1, 2]);
  remember(cache, old, [1, 2]);
  remember(cache, live, [1, 2, 3, 4]);
  const known = (root: PrefixNode<string>) => cache.match(root, [1, 2, 3, 4]).blocks.length;
  expect([old, live, other].map(known)).toEqual([0, 4, 2]);
  expect(remember(cache, other, [1, 2, 3])).toBe(3);
  expect([live, other].map(known)).toEqual([3, 3]);
  cache.drop(live);
  expect(cache.size).toBe(3);
});

test('a sequence larger than the room keeps its beginning', () => {
  const cache = createPrefixCache<string>(2, 3);
  const root = cache.root();
  expect(remember(cache, root, tokens(20))).toBe(3);
  expect(cache.match(root, tokens(20)).blocks).toHaveLength(3);
  const none = createPrefixCache<string>(2, 0);
  expect(remember(none, none.root(), tokens(20))).toBe(0);
});

test('a match is always a true beginning, and the room is never exceeded', () => {
  const sequence = fc.array(fc.nat(2), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(fc.tuple(sequence, fc.nat(2)), { maxLength: 60 }), fc.nat(6), (all, room) => {
      const cache = createPrefixCache<string>(2, room);
      const roots = [cache.root('ann'), cache.root('bob')];
      for (const [ids, action] of all) {
        const root = roots[action % 2]!;
        if (action === 2 && ids.length === 0) cache.drop(root);
        const stored = remember(cache, root, ids);
        const { blocks } = cache.match(root, ids);
        expect(blocks).toHaveLength(stored);
        expect(blocks).toEqual(blocks.map((_, index) => ids.slice(0, (index + 1) * 2).join()));
        expect(cache.size).toBeLessThanOrEqual(room);
      }
    }),
    { seed: 7, numRuns: 300 },
  );
});
