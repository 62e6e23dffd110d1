import { expect, test } from 'vitest';
import { nameOf } from '../chaos/services/plan.ts';
import { planRun } from './plan.ts';

const plan = (hours: number, seed = 1, canFillDisk = true) => planRun({ seed, hours, canFillDisk });
const count = (hours: number, kind: string) => plan(hours).filter(({ act }) => act.kind === kind).length;
const faults = (hours: number, canFillDisk = true) =>
  plan(hours, 1, canFillDisk).flatMap(({ act }) => (act.kind === 'fault' ? [nameOf(act.fault)] : []));

test('a seed always gives the same acts in order of time, another seed gives others', () => {
  expect(plan(72)).toEqual(plan(72));
  expect(plan(72)).not.toEqual(plan(72, 2));
  const times = plan(72).map(({ at }) => at);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times.at(-1)).toBeLessThan(72);
});

test('72 hours have a trim and a backup every six hours, and an upgrade at hour 48', () => {
  expect(count(72, 'trim')).toBe(12);
  expect(count(72, 'backup')).toBe(12);
  expect(plan(72).filter(({ act }) => act.kind === 'upgrade')).toEqual([
    { at: 48, act: { kind: 'upgrade' } },
  ]);
});

test('every service is ended and killed, also in a short run, and the disk fills', () => {
  for (const name of ['serving', 'collector', 'judge', 'trainer', 'console'])
    for (const end of ['SIGTERM', 'SIGKILL']) expect(faults(72)).toContain(`${end} ${name}`);
  expect(faults(72).filter((name) => name === 'disk full').length).toBeGreaterThan(3);
  expect(faults(6)).toContain('disk full');
  expect(faults(6)).toContain('SIGKILL serving');
  expect(faults(72, false)).not.toContain('disk full');
  expect(count(6, 'trim')).toBe(4);
});
