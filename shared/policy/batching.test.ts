import { expect, test } from 'vitest';
import { defaultMicrobatchTokens, type PolicySequence, planMicrobatches } from './batching.ts';

const sequence = (prompt: number, response: number): PolicySequence => ({
  promptIds: Array.from({ length: prompt }, (_, i) => i + 1),
  responseIds: Array.from({ length: response }, (_, i) => 100 + i),
});
const mixed = [sequence(30, 10), sequence(3, 5), sequence(20, 20), sequence(60, 30), sequence(1, 2)];

test('a budget of tokens decides how many sequences go together', () => {
  const membersAt = (tokens: number) => planMicrobatches(mixed, tokens).map(({ members }) => members);
  expect(membersAt(defaultMicrobatchTokens)).toEqual([[4, 1, 0, 2, 3]]);
  // By length 3, 8, 40, 40, 90: padded to the longest of its part, each stays within 100.
  expect(membersAt(100)).toEqual([[4, 1], [0, 2], [3]]);
  // None within the budget goes with another; one that is longer goes all the same.
  expect(membersAt(1)).toEqual([[4], [1], [0], [2], [3]]);
});

test('every budget covers every response token once, and no part is over it but for a single sequence', () => {
  for (const tokens of [1, 10, 45, 80, 81, 200, 1000]) {
    const plan = planMicrobatches(mixed, tokens);
    expect(plan.flatMap(({ members }) => members).sort()).toEqual([0, 1, 2, 3, 4]);
    for (const { batch, positions, members, targets } of plan) {
      if (batch > 1) expect(batch * positions).toBeLessThanOrEqual(tokens);
      expect([...targets]).toEqual(members.flatMap((index) => mixed[index]!.responseIds));
    }
  }
});
