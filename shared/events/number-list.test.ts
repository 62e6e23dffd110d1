import { expect, test } from 'vitest';
import { z } from 'zod';
import { intList, numberList } from './number-list.ts';

const lists: readonly unknown[] = [
  [],
  [1, 2, -3],
  [0.5],
  [-0],
  [2 ** 53],
  [1e308],
  [1, 'two'],
  [null],
  [Number.NaN],
  [Number.POSITIVE_INFINITY],
  [[1]],
  'abc',
  { length: 1, 0: 1 },
  null,
  undefined,
];

test.each([
  ['token ids', intList(), z.array(z.int()).readonly()],
  ['numbers', numberList(), z.array(z.number()).readonly()],
])('a list of %s accepts, refuses and says what the plain schema does', (_, fast, plain) => {
  for (const list of lists) expect(fast.safeParse(list)).toEqual(plain.safeParse(list));
  expect(z.toJSONSchema(fast)).toEqual(z.toJSONSchema(plain));
});
