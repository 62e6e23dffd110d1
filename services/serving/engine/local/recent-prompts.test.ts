import { expect, test } from 'vitest';
import { createRecentPrompts } from './recent-prompts.ts';

const ids = (length: number, from = 0) => Array.from({ length }, (_, index) => from + index);

test('the latest prompt of each conversation is kept, unless it is short', () => {
  const recent = createRecentPrompts(2);
  recent.add({ promptIds: ids(255) });
  expect(recent.latest()).toEqual([]);
  recent.add({ promptIds: ids(300) });
  recent.add({ promptIds: ids(300, 1000) });
  recent.add({ promptIds: [...ids(290), ...ids(200, 5000)] }); // continues the first prompt, except for its end
  expect(recent.latest().map(({ promptIds: { length, 0: first } }) => [first, length])).toEqual([
    [0, 490],
    [1000, 300],
  ]);
  recent.add({ promptIds: ids(300, 2000) });
  expect(recent.latest().map(({ promptIds: [first] }) => first)).toEqual([2000, 0]);
  const none = createRecentPrompts(0);
  none.add({ promptIds: ids(300) });
  expect(none.latest()).toEqual([]);
});

test('the same prompt with another salt is another conversation', () => {
  const recent = createRecentPrompts(3);
  for (const cacheSalt of ['ann', 'bob', 'ann', undefined]) recent.add({ promptIds: ids(300), cacheSalt });
  expect(recent.latest().map(({ cacheSalt }) => cacheSalt)).toEqual([undefined, 'ann', 'bob']);
});
