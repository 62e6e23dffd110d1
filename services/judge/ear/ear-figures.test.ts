import { expect, test } from 'vitest';
import { readCard, readEar } from './read-ear.ts';

/** Most of these messages are meant to mislead, or tell a story that says neither yes nor no in words. */
const LEAST = 0.8;

test('the shipped ear was right, on messages that did not train it, as often as its card says', () => {
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

test('its weights are those of its card', () => {
  const { model, digest } = readEar();
  expect(digest).toBe(readCard().digest);
  expect(model.rows.size).toBe(readCard().rows);
});
