import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CacheSize, cacheSize } from './cache-size.ts';

const empty: CacheSize = { slots: 0, positions: 0 };
const none = undefined;

test('the cache doubles slots, adds steps of positions, and shrinks when half is enough', () => {
  const first = cacheSize(empty, [10, none, none, none], 1e9);
  expect(first).toEqual({ slots: 1, positions: 64 });
  expect(cacheSize(first!, [10, 300, none, none, none, none], 1e9)).toEqual({ slots: 2, positions: 320 });
  expect(cacheSize({ slots: 2, positions: 512 }, [1, 1, 1, none, none], 1e9)).toEqual({
    slots: 4,
    positions: 64,
  });
  expect(cacheSize({ slots: 4, positions: 768 }, [1, 1, 400, none], 1e9)).toEqual({
    slots: 4,
    positions: 768,
  });
  expect(cacheSize({ slots: 8, positions: 2048 }, [1, none], 1e9)).toEqual({ slots: 1, positions: 64 });
  expect(cacheSize({ slots: 4, positions: 256 }, [1, 1, 1, 1, 1], 1e9)).toEqual({ slots: 5, positions: 64 });
});

test('a small budget gets the exact size, or none if it is too small', () => {
  expect(cacheSize(empty, [1, 1, 1, none], 3 * 64)).toEqual({ slots: 3, positions: 64 });
  expect(cacheSize(empty, [1, 1, 65, none], 3 * 64)).toBeUndefined();
});

test('all sequences always have room within the budget', () => {
  const lengths = fc.array(fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }), {
    minLength: 4,
    maxLength: 4,
  });
  fc.assert(
    fc.property(fc.array(lengths), fc.integer({ min: 0, max: 9000 }), (states, bound) => {
      let size = empty;
      for (const state of states.filter((some) => some.some((length) => length !== undefined))) {
        const next = cacheSize(size, state, bound);
        if (next === undefined) continue;
        state.forEach((length, slot) => {
          if (length === undefined) return;
          expect(slot).toBeLessThan(next.slots);
          expect(length).toBeLessThanOrEqual(next.positions);
        });
        expect(next.slots).toBeLessThanOrEqual(4);
        expect(next.slots * next.positions).toBeLessThanOrEqual(bound);
        size = next;
      }
    }),
    { seed: 3 },
  );
});
