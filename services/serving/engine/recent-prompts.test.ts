import { expect, test } from 'vitest';
import { createRecentPrompts } from './recent-prompts.ts';

const ids = (length: number, from = 0) => Array.from({ length }, (_, index) => from + index);

test('the latest prompt of each conversation is remembered, short ones are not', () => {
  const recent = createRecentPrompts(2);
  recent.add(ids(255));
  expect(recent.latest()).toEqual([]);
  recent.add(ids(300));
  recent.add(ids(300, 1000));
  recent.add([...ids(290), ...ids(200, 5000)]); // goes on from the first but for its ending
  expect(recent.latest().map(({ length, 0: first }) => [first, length])).toEqual([
    [0, 490],
    [1000, 300],
  ]);
  recent.add(ids(300, 2000));
  expect(recent.latest().map(([first]) => first)).toEqual([2000, 0]);
  const none = createRecentPrompts(0);
  none.add(ids(300));
  expect(none.latest()).toEqual([]);
});
