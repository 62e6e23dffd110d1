import { expect, test } from 'vitest';
import { progressReport, type ReportedProgress } from './progress-report.ts';

const reported = (
  events: readonly (readonly [ms: number, phase: 'scoring' | 'training' | 'gate', samples: number])[],
) => {
  const lines: ReportedProgress[] = [];
  let clock = 0;
  const report = progressReport(
    (progress) => lines.push(progress),
    () => clock,
  );
  for (const [ms, phase, samples] of events) {
    clock = ms;
    report({ phase, samples, of: 16 });
  }
  return lines;
};

test('a very short step reports nothing', () => {
  expect(
    reported([
      [500, 'training', 8],
      [900, 'training', 16],
    ]),
  ).toEqual([]);
});

test('a longer step reports every three seconds, with the time left in the phase', () => {
  const lines = reported([
    [2_000, 'scoring', 16],
    [6_000, 'training', 4],
    [7_000, 'training', 5],
    [10_000, 'training', 8],
    [18_000, 'training', 16],
  ]);
  expect(lines).toEqual([
    { phase: 'training', samples: 4, of: 16, secondsLeft: 12 },
    { phase: 'training', samples: 8, of: 16, secondsLeft: 8 },
    { phase: 'training', samples: 16, of: 16, secondsLeft: 0 },
  ]);
});

test('the beginning of the gate follows an earlier report at once', () => {
  const lines = reported([
    [6_000, 'training', 4],
    [7_000, 'training', 16],
    [7_001, 'gate', 16],
  ]);
  expect(lines.map(({ phase, samples }) => [phase, samples])).toEqual([
    ['training', 4],
    ['gate', 16],
  ]);
  expect(
    reported([
      [2_000, 'training', 16],
      [2_001, 'gate', 16],
    ]),
  ).toEqual([]);
});
