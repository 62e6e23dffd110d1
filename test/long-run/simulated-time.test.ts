import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { clockEnvironment, real, simulated, timerMs } from './simulated-time.ts';

const clock = { since: 1_000_000, rate: 60 };
const run = promisify(execFile);

test('simulated time runs faster from its beginning, and converts back', () => {
  expect(simulated(clock, 1_000_000)).toBe(1_000_000);
  expect(simulated(clock, 1_060_000)).toBe(1_000_000 + 3_600_000);
  expect(real(clock, simulated(clock, 1_234_567))).toBe(1_234_567);
});

test('timers above five minutes come due earlier, shorter ones stay real', () => {
  expect(timerMs(clock, 6 * 3_600_000)).toBe(6 * 60_000);
  expect(timerMs(clock, 300_000)).toBe(300_000);
  expect(timerMs(clock, 50)).toBe(50);
});

const probe = fileURLToPath(new URL('./clock-probe.ts', import.meta.url));

test('a process and its threads live faster, and files have the age that fits', async () => {
  const since = Date.now() - 60_000;
  const { stdout } = await run(process.execPath, [probe], {
    env: { ...process.env, ...clockEnvironment({ since, rate: 36_000 }) },
  });
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Found);
  expect(found).toHaveLength(2);
  for (const { waited, age, movedBy } of found) {
    // two hours take 0.2 s; without the fast clock they would not end
    for (const ms of waited) expect(ms).toBeGreaterThanOrEqual(2 * 3_600_000 - 36_000 * 4);
    // a file of a real clock would be 25 days old, since the clock has run for a real minute
    for (const ms of age) expect(ms).toBeLessThan(10 * 24 * 3_600_000);
    for (const ms of age) expect(ms).toBeGreaterThanOrEqual(-36_000);
    expect(movedBy).toBeLessThan(100);
  }
});

type Found = {
  readonly waited: readonly number[];
  readonly age: readonly number[];
  readonly movedBy: number;
};
