import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { type SecuredKafka, startSecuredKafka } from '../../contract/secured-kafka.ts';
import { serviceNames, startService, untilReady } from './service-process.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-brokers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let kafka: SecuredKafka;
describeWithKafka(
  'a Kafka that refuses',
  () => {
    const flags = (more: Readonly<Record<string, string>> = {}) =>
      Object.entries({
        '--data-folder': join(folder, 'refused'),
        '--log': 'kafka',
        '--kafka-brokers': kafka.secured,
        '--kafka-ssl': 'true',
        '--kafka-ca-file': kafka.caFile,
        '--kafka-sasl-mechanism': 'plain',
        '--kafka-sasl-username': 'clawloop',
        '--kafka-sasl-password': 'a secret',
        ...more,
      })
        .filter(([, value]) => value !== '')
        .flat();

    test.each([
      ['a wrong password', { '--kafka-sasl-password': 'another' }, /[Aa]uthentication failed/],
      [
        'a mechanism that it does not speak',
        { '--kafka-sasl-mechanism': 'scram-sha-256' },
        /SCRAM|mechanism/,
      ],
      ['a certificate that nobody vouches for', { '--kafka-ca-file': '' }, /certificate/],
    ])('%s: every service ends with 2 and says so', async (_, wrong, reason) => {
      const ends = await Promise.all(serviceNames.map((name) => startService(name, flags(wrong)).ended));
      for (const [index, { code, output, stderr }] of ends.entries()) {
        expect(code, output + stderr).toBe(2);
        expect(stderr).toContain(`clawloop ${serviceNames[index]}: Kafka at ${kafka.secured} refuses us: `);
        expect(stderr).toMatch(reason);
      }
    });

    test('with the right ones a service is ready', async () => {
      const collector = startService('collector', flags());
      await untilReady(collector);
      expect((await collector.stop()).code).toBe(0);
    });

    test.each(['turns', 'dead-letters'] as const)('%s with another number of partitions', async (topic) => {
      const prefix = `odd-${topic}.`;
      const connection = connectTo({ brokers: kafka.brokers, prefix });
      const admin = connection.kafka.admin();
      await admin.createTopics({ topics: [{ topic: connection.topicName(topic), numPartitions: 2 }] });
      await admin.disconnect();
      const { code, stderr } = await startService('collector', [
        ...['--data-folder', join(folder, 'odd'), '--log', 'kafka'],
        ...['--kafka-brokers', kafka.brokers.join(','), '--kafka-prefix', prefix],
      ]).ended;
      expect(code).toBe(2);
      expect(stderr).toContain(
        `${prefix}${topic} was made with 2 partitions, which is fixed; 3 are asked for`,
      );
    });
  },
  async (at) => {
    kafka = await startSecuredKafka(at);
    return kafka;
  },
);
