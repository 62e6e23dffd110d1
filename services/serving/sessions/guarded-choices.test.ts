import { expect, test } from 'vitest';
import type { TokenRecord } from '../../../shared/events/token-record.ts';
import { guardedChoicesOf } from './guarded-choices.ts';

const tokens: TokenRecord = {
  promptIds: [1],
  responseIds: [5, 6, 7],
  logProbs: [Math.log(0.25), Math.log(0.5), 0],
  allowed: [
    { at: 0, ids: [4, 5, 8, 9] },
    { at: 1, ids: [3, 6] },
    { at: 2, ids: [7] },
  ],
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
};

test('positions with several allowed tokens count, with how surprising the sampled one was', () => {
  const choices = guardedChoicesOf(tokens);
  expect(choices.count).toBe(2);
  expect(choices.nats).toBeCloseTo(Math.log(8), 12);
  expect(choices.most).toBeCloseTo(Math.log(8), 12);
});

test('answers without a guard, greedy answers and filtered ones do not count', () => {
  const { allowed: _, ...free } = tokens;
  const filtered = { ...tokens, filters: { topP: 0.9, topK: 0 } };
  for (const other of [null, free, { ...tokens, greedy: true }, filtered])
    expect(guardedChoicesOf(other).count).toBe(0);
});
