import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { reportFile, seedsOr } from './config.ts';
import { whyNoBrokers } from './deployment.ts';
import { runSeed, type SeedReport } from './run-seed.ts';
import { killCount, reportTable, violations } from './verdict.ts';

const MINUTES = 60_000;
const print = (line: string) => console.log(line);
const missing = whyNoBrokers();
const reports: SeedReport[] = [];
/** The last two seeds of each mode. */
const hasCanaries = (seed: number) => seed % 100 > 2;

/** Figures of the finished seeds, also if a later seed fails. */
function keep(report: SeedReport): void {
  reports.push(report);
  const file = reportFile();
  if (file !== undefined) writeFileSync(file, JSON.stringify(reports, null, 1));
}

describe('more than a hundred kills over both modes', () => {
  afterAll(() => console.log(`\n${reportTable(reports)}\n`));

  test.each(seedsOr([101, 102, 103, 104]))(
    'embedded, seed %i',
    async (seed) => {
      const report = await runSeed({
        seed,
        mode: 'embedded',
        kills: 12,
        hasCanaries: hasCanaries(seed),
        print,
      });
      keep(report);
      expect(violations(report)).toEqual([]);
    },
    20 * MINUTES,
  );

  test.skipIf(missing !== undefined).each(seedsOr([201, 202, 203, 204]))(
    `on Kafka and Redis, seed %i ${missing ?? ''}`,
    async (seed) => {
      // every other seed has two collectors and two judges
      const report = await runSeed({
        seed,
        mode: 'brokers',
        kills: 12,
        replicas: 1 + (seed % 2),
        hasCanaries: hasCanaries(seed),
        print,
      });
      keep(report);
      expect(violations(report)).toEqual([]);
    },
    30 * MINUTES,
  );

  test.skipIf(missing !== undefined || seedsOr([]).length > 0)(
    'the seeds together made at least a hundred kills',
    () => {
      expect(killCount(reports)).toBeGreaterThanOrEqual(100);
      expect(reports.reduce((sum, { canaries }) => sum + canaries, 0)).toBeGreaterThanOrEqual(8);
    },
  );
});
