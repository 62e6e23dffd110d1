import { expect, test } from 'vitest';
import { runHistory } from './run-history.ts';

const SEEDS = 1500;

test(`all laws hold in ${SEEDS} histories`, () => {
  const broken: string[] = [];
  for (let seed = 1001; seed <= 1000 + SEEDS && broken.length === 0; seed++)
    broken.push(...runHistory(seed).broken.map((what) => `seed ${seed}: ${what}`));
  expect(broken).toEqual([]);
});

test('all laws hold in long histories', () => {
  const broken: string[] = [];
  for (let seed = 1; seed <= 60 && broken.length === 0; seed++)
    broken.push(...runHistory(seed, { steps: 5000 }).broken.map((what) => `seed ${seed}: ${what}`));
  expect(broken).toEqual([]);
});
