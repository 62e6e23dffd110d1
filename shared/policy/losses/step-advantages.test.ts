import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sum } from '../../lang/numbers.ts';
import { anchorAdvantages, indexBuckets, processBaselineOf } from './step-advantages.ts';

/** Three attempts of different lengths, with scores of three votes. */
const attempts = [
  { outcome: 1, scores: [1, 1 / 3, -1 / 3, 1] },
  { outcome: -1, scores: [-1, 0, -1] },
  { outcome: 1, scores: [1 / 3, 1] },
];

/** The published formula of step-wise comparison, written out for one bucket: population deviation, 1e-6. */
function bucketFormula(rewards: readonly number[]): readonly number[] {
  let total = 0;
  for (const reward of rewards) total += reward;
  const average = total / rewards.length;
  let squares = 0;
  for (const reward of rewards) squares += (reward - average) ** 2;
  return rewards.map((reward) => (reward - average) / (Math.sqrt(squares / rewards.length) + 1e-6));
}

test('buckets by step index agree with the published formula, except that a bucket of one gets nothing', () => {
  const weight = 0.3;
  const buckets = indexBuckets(attempts, weight);
  for (const index of [0, 1, 2]) {
    const members = attempts.filter(({ scores }) => index < scores.length);
    const expected = bucketFormula(members.map(({ outcome, scores }) => outcome + weight * scores[index]!));
    const { outcome, score, scale } = buckets[index]!;
    members.forEach((member, at) => {
      const parts = [member.outcome - outcome, weight * (member.scores[index]! - score)];
      expect(sum(parts) / scale).toBeCloseTo(expected[at]!, 12);
    });
  }
  expect(buckets).toHaveLength(4);
  expect(buckets[3]).toBeNull();
});

test('a bucket of equal rewards compares nothing', () => {
  expect(indexBuckets([attempts[0]!, attempts[0]!], 1)).toEqual([null, null, null, null]);
});

test('in the baseline each attempt counts once, however long; unknown scores are left out', () => {
  expect(processBaselineOf(attempts)).toBeCloseTo((0.5 - 2 / 3 + 2 / 3) / 3, 12);
  const [first, second] = [
    { outcome: 0, scores: [1, null, null] },
    { outcome: 0, scores: [0, 0, 0, 0] },
  ];
  expect(processBaselineOf([first, second])).toBe(0.5);
  expect(processBaselineOf([second, { outcome: 0, scores: [null] }])).toBe(0);
  expect(processBaselineOf([])).toBe(0);
});

test('steps are compared where two attempts met in one state', () => {
  const visits = [
    { attempt: 0, state: 'start', return: 1 },
    { attempt: 0, state: 'door', return: 1 },
    { attempt: 0, state: 'door', return: 1 },
    { attempt: 1, state: 'start', return: -1 },
    { attempt: 1, state: 'door', return: -1 },
    { attempt: 1, state: 'cellar', return: -1 },
    { attempt: 1, state: 'cellar', return: -1 },
  ];
  expect(anchorAdvantages(visits)).toEqual([1, 1 - 1 / 3, 1 - 1 / 3, -1, -1 - 1 / 3, 0, 0]);
});

test('the comparisons of each state add up to nothing', () => {
  const visit = fc.record({
    attempt: fc.integer({ min: 0, max: 3 }),
    state: fc.constantFrom('a', 'b', 'c'),
    return: fc.double({ min: -1, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(visit), (visits) => {
      const advantages = anchorAdvantages(visits);
      for (const state of ['a', 'b', 'c'])
        expect(sum(advantages.filter((_, at) => visits[at]!.state === state))).toBeCloseTo(0, 9);
    }),
  );
});
