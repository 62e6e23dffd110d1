import { expect, test } from 'vitest';
import { createPace } from './pace.ts';

test('a change is told at once, and once more when no page can read an older value any longer', () => {
  let [state, now] = ['a', 0];
  const pace = createPace(
    () => state,
    () => now,
    1_000,
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
