import { expect } from 'vitest';
import { runHistory } from './run-history.ts';

/** Expects that histories with the seeds from `first` on break no law; stops at the first that does. */
export function expectLawsHold(
  first: number,
  seeds: number,
  options: Parameters<typeof runHistory>[1] = {},
): void {
  const broken: string[] = [];
  for (let seed = first; seed < first + seeds && broken.length === 0; seed++)
    broken.push(...runHistory(seed, options).broken.map((what) => `seed ${seed}: ${what}`));
  expect(broken).toEqual([]);
}
