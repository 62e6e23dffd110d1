import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { longRunConfig } from './config.ts';
import { runLong } from './run.ts';
import { summary, violationsOf } from './verdict.ts';

const { reportFile, ...config } = longRunConfig();

test(`${config.hours} simulated hours: nothing is lost, nothing counts twice, everything stays level`, async () => {
  const report = await runLong({ ...config, print: (line) => console.log(line) });
  if (reportFile !== undefined) writeFileSync(reportFile, JSON.stringify(report, null, 1));
  console.log(`\n${summary(report)}\n`);
  expect(violationsOf(report)).toEqual([]);
  expect(report.answers).toBeGreaterThan(0);
});
