import { expect, test } from 'vitest';
import { backoffDelay } from './backoff.ts';

const settings = { attempts: 9, backoffMs: 100, maxBackoffMs: 1000, jitter: 0.5, timeLimitMs: 1000 };

test('the delay doubles with each try up to its limit', () => {
  expect([1, 2, 3, 4, 5, 60].map((attempt) => backoffDelay(settings, attempt, 0))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
});

test('jitter shortens the delay by at most its share', () => {
  expect(backoffDelay(settings, 2, 0.5)).toBe(150);
  expect(backoffDelay(settings, 2, 1)).toBe(100);
  expect(backoffDelay({ ...settings, jitter: 0 }, 2, 0.7)).toBe(200);
});
