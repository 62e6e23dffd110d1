import { expect, test } from 'vitest';
import { defaultMicrobatchTokens, type PolicySequence, planMicrobatches } from './batching.ts';

const sequence = (prompt: number, response: number): PolicySequence => ({
  promptIds: Array.from({ length: prompt }, (_, i) => i + 1),
  responseIds: Array.from({ length: response }, (_, i) => 100 + i),
});
const mixed = [sequence(30, 10), sequence(3, 5), sequence(20, 20), sequence(60, 30), sequence(1, 2)];

test('the token budget decides how many sequences are in a microbatch', () => {
  const membersAt = (tokens: number) => planMicrobatches(mixed, tokens).map(({ members }) => members);
  expect(membersAt(defaultMicrobatchTokens)).toEqual([[4, 1, 0, 2, 3]]);
  // By length 3, 8, 40, 40, 90: padded to the longest of its part, each stays within 100.
  expect(membersAt(100)).toEqual([[4, 1], [0, 2], [3]]);
  // No two sequences fit the budget; a sequence above the budget gets a microbatch anyway.
  expect(membersAt(1)).toEqual([[4], [1], [0], [2], [3]]);
});

test('any budget covers every response token once; only single sequences exceed it', () => {
  for (const tokens of [1, 10, 45, 80, 81, 200, 1000]) {
    const plan = planMicrobatches(mixed, tokens);
    expect(plan.flatMap(({ members }) => members).sort()).toEqual([0, 1, 2, 3, 4]);
    for (const { batch, positions, members, targets } of plan) {
      if (batch > 1) expect(batch * positions).toBeLessThanOrEqual(tokens);
      expect([...targets]).toEqual(members.flatMap((index) => mixed[index]!.responseIds));
    }
  }
});

test('padding to a step gives few lengths, keeps the budget, and moves no token', () => {
  for (const tokens of [100, 1000]) {
    const [plain, padded] = [planMicrobatches(mixed, tokens), planMicrobatches(mixed, tokens, 32)];
    for (const { batch, positions, members, rows, ids, targets } of padded) {
      expect(positions % 32).toBe(0);
      expect(batch * positions <= tokens || members.length === 1).toBe(true);
      const wanted = members.flatMap((index) => [...mixed[index]!.responseIds]);
      expect([...targets]).toEqual(wanted);
      // the last token that a row reads is the token before its target
      for (const [i, row] of rows.entries()) {
        const isFirst = i === 0 || rows[i - 1] !== row - 1;
        if (!isFirst) expect(ids[row]).toBe(targets[i - 1]);
      }
    }
    const covered = (plan: typeof plain) => plan.flatMap(({ members }) => members).sort();
    expect(covered(padded)).toEqual(covered(plain));
  }
});
