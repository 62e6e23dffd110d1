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
