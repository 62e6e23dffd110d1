import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createHeartbeat } from './heartbeat.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a silent thread is first a problem, and after the limit a failure', async () => {
  let answer = () => {};
  let asked = 0;
  const ask = () => {
    asked += 1;
    return new Promise<void>((resolve) => {
      answer = resolve;
    });
  };
  const heartbeat = createHeartbeat({ ask, limitMs: 1_000 });
  const ended = vi.fn();
  heartbeat.failed.catch(ended);
  for (let time = 0; time < 100; time++) {
    await vi.advanceTimersByTimeAsync(20);
    answer();
  }
  expect(asked).toBeGreaterThan(40);
  expect(heartbeat.problem()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(300);
  expect(heartbeat.problem()).toBe('the engine thread does not respond');
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toHaveBeenCalledOnce();
  heartbeat.stop();
});
