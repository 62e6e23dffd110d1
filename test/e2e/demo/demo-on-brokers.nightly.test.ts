import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNoKafka } from '../../../infra/kafka/jars.ts';
import { whyNoRedis } from '../../../infra/redis/start-redis.ts';
import { type Brokers, startBrokers } from './brokers.ts';
import { runSeed } from './run-seed.ts';

const MINUTES = 60_000;
const missing =
  process.env.CLAWLOOP_REQUIRE_ALL === '1' ? undefined : (whyNoKafka() ?? whyNoRedis() ?? undefined);

describe.skipIf(missing !== undefined)(`the loop on Kafka and Redis${missing ? ` (${missing})` : ''}`, () => {
  let brokers: Brokers;
  beforeAll(async () => {
    brokers = await startBrokers();
  }, 3 * MINUTES);
  afterAll(() => brokers?.stop());

  test(
    'the policy learns the taste of a person although every service is killed once; audit and replay agree',
    async () => {
      let shown = '';
      const report = await runSeed({
        seed: 4,
        sessions: 12,
        learning: true,
        kill: true,
        print: (line) => console.log(line),
        atEnd: async () => {
          shown = await brokers.report();
        },
      });
      console.log(shown);
      expect(report.kills).toEqual(['serving', 'collector', 'judge', 'trainer']);
      expect(report.audit).toBe('balances');
      expect(report.replay).toBe('same digests');
      expect(report.mixed).toBe(0);
      expect(report.versions).toBeGreaterThanOrEqual(2);
      for (const fold of ['attribute', 'judge', 'assemble', 'submit', 'trainer'])
        expect(shown).toMatch(new RegExp(`^clawloop\\.${fold} `, 'm'));
      expect(shown).toMatch(/^BullMQ, votes: added \d+, completed [1-9]\d*, failed 0/m);
    },
    10 * MINUTES,
  );
});
