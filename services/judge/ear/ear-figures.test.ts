import { expect, test } from 'vitest';
import { readCard, readEar } from './read-ear.ts';

/** Most of these messages are misleading on purpose, or imply a verdict without stating it. */
const LEAST = 0.8;

test('the model card has the measured figures of the shipped ear', () => {
  const { figures } = readCard();
  const { bad, good, sarcasmTakenForPraise } = figures as {
    bad: { precision: number };
    good: { precision: number };
    sarcasmTakenForPraise: number;
  };
  expect(bad.precision).toBeGreaterThanOrEqual(LEAST);
  expect(good.precision).toBeGreaterThanOrEqual(LEAST);
  expect(sarcasmTakenForPraise).toBeLessThanOrEqual(0.05);
});

test('the weights match the digest of the model card', () => {
  const { model, digest } = readEar();
  expect(digest).toBe(readCard().digest);
  expect(model.rows.size).toBe(readCard().rows);
});
