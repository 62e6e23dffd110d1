import { expect, test } from 'vitest';
import { countIds, createRecent } from './recent.ts';

test('the oldest entry is forgotten when there are too many', () => {
  const recent = createRecent<number>(2);
  for (const [index, key] of ['a', 'b', 'c'].entries()) recent.set(key, index);
  expect(recent.entries()).toEqual([
    ['b', 1],
    ['c', 2],
  ]);
  expect([recent.has('a'), recent.get('c')]).toEqual([false, 2]);
});

test('an id counts once while it is remembered, also after the count was stored', () => {
  const ids = countIds(2);
  expect(['a', 'a', 'b', 'a'].map(ids.add)).toEqual([true, false, true, false]);
  const again = countIds(2, ids.state());
  expect(['b', 'c', 'a'].map(again.add)).toEqual([false, true, true]);
  expect(again.count()).toBe(4);
});
