import { expect, test } from 'vitest';
import { runSeed, type SeedReport } from './run-seed.ts';
import { judgeRun } from './verdict.ts';

test('the policy learns the taste on four of five seeds, and on none without learning', async () => {
  const reports: SeedReport[] = [];
  for (const seed of [1, 2, 3, 4, 5])
    for (const learning of [true, false])
      reports.push(
        await runSeed({
          seed,
          sessions: 32,
          learning,
          kill: false,
          print: (line) => console.log(line),
        }),
      );
  const { lines, passed } = judgeRun(reports);
  expect(passed, lines.join('\n')).toBe(true);
});

test('the demo succeeds although every service is killed once', async () => {
  const report = await runSeed({
    seed: 2,
    sessions: 16,
    learning: true,
    kill: true,
    print: (line) => console.log(line),
  });
  expect(report.kills).toEqual(['serving', 'collector', 'judge', 'trainer']);
  expect(report.audit).toBe('balances');
  expect(report.replay).toBe('same digests');
  expect(report.mixed).toBe(0);
  expect(report.versions).toBeGreaterThanOrEqual(2);
});
