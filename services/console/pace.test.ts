import { expect, test } from 'vitest';
import { createPace } from './pace.ts';

test('a change is told at once, and once more when no page can read an older value any longer', () => {
  let [state, now] = ['a', 0];
  const pace = createPace(
    () => state,
    () => now,
    { cachedMs: 1_000, leastMs: 500, mostMs: 2_000 },
  );
  const told: string[] = [];
  const tick = (ms: number): void => {
    now += ms;
    if (pace.isDue()) told.push(`${state}${pace.isRepeated() ? ' again' : ''} at ${now}`);
  };
  for (let i = 0; i < 5; i++) tick(500);
  state = 'b';
  tick(500);
  state = 'c'; // before b was repeated
  for (let i = 0; i < 10; i++) tick(500);
  expect(told).toEqual(['a at 500', 'a again at 2000', 'b at 3000', 'c at 3500', 'c again at 5000']);
});

test('while changes follow each other, the intervals grow to the longest; after a pause the next change is told at once', () => {
  let [state, now] = [0, 0];
  const pace = createPace(
    () => String(state),
    () => now,
    { cachedMs: 1_000, leastMs: 500, mostMs: 2_000 },
  );
  const told: number[] = [];
  const tick = (changes: boolean): void => {
    now += 500;
    if (changes) state += 1;
    if (pace.isDue() && !pace.isRepeated()) told.push(now);
  };
  for (let i = 0; i < 20; i++) tick(true);
  expect(told).toEqual([500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000]);
  for (let i = 0; i < 20; i++) tick(false);
  tick(true);
  tick(true);
  expect(told.slice(7)).toEqual([20_500, 21_000]);
});

test('while many changes wait, the longest interval holds from the second message on', () => {
  let [state, now, isBusy] = [0, 0, true];
  const pace = createPace(
    () => String(state),
    () => now,
    { cachedMs: 1_000, leastMs: 500, mostMs: 2_000, isBusy: () => isBusy },
  );
  const told: number[] = [];
  const tick = (): void => {
    now += 500;
    state += 1;
    if (pace.isDue() && !pace.isRepeated()) told.push(now);
  };
  for (let i = 0; i < 10; i++) tick();
  expect(told).toEqual([500, 2_500, 4_500]);
  for (let i = 0; i < 10; i++) tick();
  isBusy = false;
  tick();
  expect(told.slice(3)).toEqual([6_500, 8_500, 10_500]);
});
