import { expect, test } from 'vitest';
import { restartDelay } from './restart-delay.ts';

test('the delay doubles with each crash, up to half a minute', () => {
  expect([1, 2, 3, 4].map((crashes) => restartDelay(crashes, 100).ms)).toEqual([500, 1000, 2000, 4000]);
  expect(restartDelay(20, 100).ms).toBe(30_000);
});

test('after a minute of uptime the delay starts over', () => {
  expect(restartDelay(20, 60_000)).toEqual({ ms: 500, healthy: true });
});
