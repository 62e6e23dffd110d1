import { expect, test } from 'vitest';
import { nameOf, planFaults } from './plan.ts';

const kills = (names: readonly string[]) =>
  names.filter((name) => name.startsWith('SIGKILL') && !name.endsWith('once'));

test('a seed always gives the same faults, another seed gives others', () => {
  const plan = (seed: number) => planFaults({ seed, mode: 'brokers', kills: 12, canFillDisk: false });
  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});

test.each([
  ['embedded', 10, 5],
  ['brokers', 14, 7],
] as const)(
  '%s: every process is killed equally often, and there are other faults',
  (mode, count, targets) => {
    const names = planFaults({ seed: 3, mode, kills: count, canFillDisk: true }).map(({ fault }) =>
      nameOf(fault),
    );
    expect(kills(names)).toHaveLength(count);
    expect(new Set(kills(names)).size).toBe(targets);
    expect(names.length - count).toBe(count / 2);
  },
);

test('no full disk is planned if the disk cannot be filled', () => {
  const plan = planFaults({ seed: 4, mode: 'embedded', kills: 40, canFillDisk: false });
  expect(plan.some(({ fault }) => fault.kind === 'disk-full')).toBe(false);
});
