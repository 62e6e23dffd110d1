import { expect, test } from 'vitest';
import { progressReport, type ReportedProgress } from './progress-report.ts';

const reported = (
  events: readonly (readonly [ms: number, phase: 'scoring' | 'training', samples: number])[],
) => {
  const said: ReportedProgress[] = [];
  let clock = 0;
  const report = progressReport(
    (progress) => said.push(progress),
    () => clock,
  );
  for (const [ms, phase, samples] of events) {
    clock = ms;
    report({ phase, samples, of: 16 });
  }
  return said;
};

test('a step that is over in no time says nothing', () => {
  expect(
    reported([
      [500, 'training', 8],
      [900, 'training', 16],
    ]),
  ).toEqual([]);
});

test('of a longer one a line every three seconds, with what is left at the pace of the phase', () => {
  const said = reported([
    [2_000, 'scoring', 16],
    [6_000, 'training', 4],
    [7_000, 'training', 5],
    [10_000, 'training', 8],
    [18_000, 'training', 16],
  ]);
  expect(said).toEqual([
    { phase: 'training', samples: 4, of: 16, secondsLeft: 12 },
    { phase: 'training', samples: 8, of: 16, secondsLeft: 8 },
    { phase: 'training', samples: 16, of: 16, secondsLeft: 0 },
  ]);
});
