import { describe, expect, test } from 'vitest';
import { seedsOr } from './config.ts';
import { whyNoBrokers } from './deployment.ts';
import { runSeed } from './run-seed.ts';
import { killCount, violations } from './verdict.ts';

const MINUTES = 60_000;
const print = (line: string) => console.log(line);

describe('people chat while processes are killed, stopped and starved', () => {
  test.each(seedsOr([14]))(
    'embedded, seed %i: nothing is lost, nothing counts twice',
    async (seed) => {
      const report = await runSeed({ seed, mode: 'embedded', kills: 3, print });
      expect(violations(report)).toEqual([]);
      expect(killCount([report])).toBeGreaterThanOrEqual(3);
      expect(report.answers).toBeGreaterThan(10);
      // the disk was full indeed
      if (report.hits.some(({ fault }) => fault.kind === 'disk-full'))
        expect(report.outboxPeak).toBeGreaterThan(0);
    },
    10 * MINUTES,
  );

  const missing = whyNoBrokers();
  test.skipIf(missing !== undefined).each(seedsOr([12]))(
    `on Kafka and Redis, seed %i: nothing is lost, nothing counts twice ${missing ?? ''}`,
    async (seed) => {
      const report = await runSeed({ seed, mode: 'brokers', kills: 3, print });
      expect(violations(report)).toEqual([]);
      expect(killCount([report])).toBeGreaterThanOrEqual(3);
      expect(report.answers).toBeGreaterThan(10);
    },
    10 * MINUTES,
  );
});
