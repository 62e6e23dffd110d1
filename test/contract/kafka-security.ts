import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { LogConfig } from '../../shared/config/log.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { kafkaConnection, openLog } from '../../shared/runtime/open-log.ts';
import { ledger, readTopic, started, until } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';
import { allowAllBut, startSecuredKafka } from './secured-kafka.ts';

const { AclOperationTypes, AclResourceTypes } = kafkajs;

/** TLS with its own certificate, a user name and a password, in the form of a service's settings. */
export function kafkaSecurity(): void {
  let brokers: string[];
  let open: readonly string[];
  let caFile: string;

  describeWithKafka(
    'Kafka behind TLS and SASL',
    () => {
      const settings = (more: object = {}) =>
        LogConfig.parse({
          log: 'kafka',
          kafkaBrokers: brokers,
          kafkaPrefix: 'secured.',
          kafkaSsl: true,
          kafkaCaFile: caFile,
          kafkaSaslMechanism: 'plain',
          kafkaSaslUsername: 'clawloop',
          kafkaSaslPassword: 'a secret',
          ...more,
        });

      test('a log is written and read with certificate, name and password', async () => {
        const log = await openLog(settings(), dataFolder('/nowhere'), { partitions: 2 });
        await log.append([started('a', 0), started('a', 1)]);
        expect((await readTopic(log, 'conversations')).map(({ event }) => event.id)).toEqual(['a-0', 'a-1']);
        await log.close();
      });

      test('a wrong password, or an untrusted certificate, is refused with the reason', async () => {
        const wrong = await kafkaConnection(settings({ kafkaSaslPassword: 'another' }));
        await expect(openKafkaLog(wrong)).rejects.toMatchObject({
          name: 'LogUnavailable',
          message: expect.stringMatching(/authentication/i),
        });
        const untrusted = await kafkaConnection(settings({ kafkaCaFile: undefined }));
        await expect(openKafkaLog(untrusted)).rejects.toMatchObject({
          name: 'LogUnavailable',
          message: expect.stringMatching(/certificate/i),
        });
        await expect(kafkaConnection(settings({ kafkaSaslPassword: undefined }))).rejects.toThrow(
          'kafkaSaslPassword',
        );
      });

      test('a fold without the right to use its transactional id reports what it waits for', async () => {
        const log = await openLog(settings(), dataFolder('/nowhere'), { partitions: 2 });
        await log.append([started('a', 0), started('b', 0)]);
        const { TRANSACTIONAL_ID } = AclResourceTypes;
        await allowAllBut(open, [TRANSACTIONAL_ID, 'tx-secured.three-'], AclOperationTypes.ALL);
        const stop = new AbortController();
        const folding = log.process(ledger, { group: 'three', settings: { label: 'one' } }, stop.signal);
        await until(() => log.troubles('three').length > 0, 60_000);
        expect(log.troubles('three')[0]).toMatch(/^conversations\/\d: .*no right to the transactional id/);
        stop.abort();
        await folding;
        expect(log.troubles('three')).toEqual([]);
        await log.close();
      });

      test.each([
        ['its transactions', 'one', AclResourceTypes.TRANSACTIONAL_ID, 'tx-secured.one-'],
        ['its rows', 'two', AclResourceTypes.TOPIC, 'secured.two-'],
      ])(
        'a fold that may not write %s ends with that reason',
        async (_, group, resourceType, resourceName) => {
          const log = await openLog(settings(), dataFolder('/nowhere'), { partitions: 2 });
          await log.append([started('a', 0), started('b', 0)]);
          await allowAllBut(open, [resourceType, resourceName], AclOperationTypes.WRITE);
          const stop = new AbortController();
          const folding = log.process(ledger, { group, settings: { label: 'one' } }, stop.signal);
          await expect(folding).rejects.toMatchObject({
            name: 'LogRefused',
            message: expect.stringMatching(new RegExp(`the broker refuses ${group} .*[Aa]uthoriz`)),
          });
          await log.close();
        },
      );
    },
    async (folder) => {
      const node = await startSecuredKafka(folder);
      brokers = [node.secured];
      open = node.brokers;
      caFile = node.caFile;
      return node;
    },
  );
}
