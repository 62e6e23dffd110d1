import { expect, test } from 'vitest';
import { treeReturns } from './tree-returns.ts';

const close = (actual: readonly number[], expected: readonly number[]) => {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((value, index) => {
    expect(value).toBeCloseTo(expected[index]!, 12);
  });
};
const chain = (length: number) => Array.from({ length }, (_, index) => (index === 0 ? null : index - 1));

test('a chain has the discounted return', () => {
  close(treeReturns(chain(3), [0, 0, 10], 0.9), [8.1, 9, 10]);
  close(treeReturns(chain(3), [1, 2, 3], 1), [6, 5, 3]);
  close(treeReturns(chain(3), [1, 0, 0], 0.5), [1, 0, 0]);
  close(treeReturns(chain(3), [0, 0, 0], 0.9), [0, 0, 0]);
});

test('with discount 0 each node keeps its own reward', () => {
  close(treeReturns(chain(3), [1, -2, 3], 0), [1, -2, 3]);
  close(treeReturns([null, 0, 0], [0, 1, -1], 0), [0, 1, -1]);
});

test('a reward reaches the turn k steps earlier as discount^k', () => {
  const n = 20;
  const rewards = Array.from({ length: n }, (_, index) => (index === n - 1 ? 1 : 0));
  close(
    treeReturns(chain(n), rewards, 0.9),
    rewards.map((_, index) => 0.9 ** (n - 1 - index)),
  );
});

test('a constant reward sums to the geometric series', () => {
  const n = 30;
  close(
    treeReturns(chain(n), Array(n).fill(1), 0.9),
    Array.from({ length: n }, (_, index) => (1 - 0.9 ** (n - index)) / (1 - 0.9)),
  );
});

test('branches keep their own returns, and their parent takes the mean', () => {
  //      0
  //    1   2
  //    3     4
  const parents = [null, 0, 0, 1, 2];
  close(treeReturns(parents, [0, 0, 0, 1, -1], 0.5), [0, 0.5, -0.5, 1, -1]);
  close(treeReturns(parents, [0.5, 0, 0, 1, 0], 1), [1, 1, 0, 1, 0]);
  close(treeReturns([null, 0, 0, 0], [0, 3, 0, 0], 1), [1, 3, 0, 0]);
});

test('the trees of a forest are independent', () => {
  close(treeReturns([null, 0, null, 2], [0, 1, 0, -1], 1), [1, 1, -1, -1]);
});

test('the order of the nodes does not matter', () => {
  close(treeReturns([2, 0, null], [0, 10, 0], 0.9), [9, 10, 8.1]);
});

test('ten thousand turns do not overflow the stack', () => {
  const n = 10_000;
  const rewards = Array.from({ length: n }, (_, index) => (index === n - 1 ? 1 : 0));
  expect(treeReturns(chain(n), rewards, 1)[0]).toBe(1);
});

test('a cycle is an error', () => {
  expect(() => treeReturns([1, 0, null], [0, 0, 0], 1)).toThrow('cycle');
});
