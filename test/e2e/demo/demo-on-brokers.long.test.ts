import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { runSeed } from './run-seed.ts';

const MINUTES = 60_000;

describeWithKafka('the loop on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    const settings = [
      'CLAWLOOP_LOG',
      'CLAWLOOP_KAFKA_BROKERS',
      'CLAWLOOP_QUEUE',
      'CLAWLOOP_REDIS_URL',
    ] as const;
    beforeAll(() => {
      // what a deployment sets for every process, commands included
      const values = ['kafka', kafka().brokers.join(','), 'redis', redis().url];
      for (const [index, name] of settings.entries()) process.env[name] = values[index]!;
    });
    afterAll(() => {
      for (const name of settings) delete process.env[name];
    });

    test(
      'a person with a taste is learned from, and every service is killed once: audit and replay agree',
      async () => {
        const report = await runSeed({
          seed: 4,
          sessions: 12,
          learning: true,
          kill: true,
          print: (line) => console.log(line),
        });
        expect(report.kills).toEqual(['serving', 'collector', 'judge', 'trainer']);
        expect(report.audit).toBe('balances');
        expect(report.replay).toBe('same digests');
        expect(report.mixed).toBe(0);
        expect(report.versions).toBeGreaterThanOrEqual(2);
      },
      10 * MINUTES,
    );
  });
});
