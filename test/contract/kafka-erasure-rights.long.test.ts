import { readFile } from 'node:fs/promises';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { brokerRefusal } from '../../shared/log/kafka/broker-refusal.ts';
import type { KafkaConnectionOptions } from '../../shared/log/kafka/connection.ts';
import { openLogRestore } from '../../shared/log/kafka/log-restore.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { deleteReplaced } from '../../shared/log/kafka/replaced-log.ts';
import { openStillLog } from '../../shared/log/kafka/still-log.ts';
import { ledger, ledgers, started, untilLevel } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';
import { allowAllBut, type SecuredKafka, startSecuredKafka } from './secured-kafka.ts';

const { AclOperationTypes, AclResourceTypes } = kafkajs;
const options = { patienceMs: 10_000, signal: new AbortController().signal, expected: [ledgers.group] };

let node: SecuredKafka;
const start = async (folder: string) => {
  node = await startSecuredKafka(folder);
  return node;
};

describeWithKafka(
  'an erasure on Kafka without the rights',
  () => {
    /** As the user whose rights are limited. */
    const as = async (prefix: string): Promise<KafkaConnectionOptions> => ({
      ...{ brokers: [node.secured], prefix, ssl: { ca: await readFile(node.caFile, 'utf8') } },
      sasl: { mechanism: 'plain', username: 'clawloop', password: 'a secret' },
    });
    const fill = async (prefix: string): Promise<string> => {
      const log = await openKafkaLog({ brokers: node.brokers, prefix, partitions: 2 });
      await log.append([started('a', 0), started('b', 0)]);
      const stop = new AbortController();
      const done = log.process(ledger, ledgers, stop.signal);
      await untilLevel(log, ledgers.group);
      stop.abort();
      await done;
      await log.close();
      return log.logId;
    };
    const refusalOf = (work: Promise<unknown>) => work.then(() => 'it worked', brokerRefusal);
    /** A right to the cluster would be enough, too. */
    const deny = async (prefix: string, operation: number) => {
      await allowAllBut(node.brokers, [AclResourceTypes.CLUSTER, 'kafka-cluster'], operation);
      await allowAllBut(node.brokers, [AclResourceTypes.TOPIC, prefix], operation);
    };

    test('rows that the user may not see are not left out of a copy', async () => {
      await fill('one.');
      const log = await openStillLog(await as('one.'), options);
      await log.close();
      await deny('one.ledgers-', AclOperationTypes.DESCRIBE);
      await expect(openStillLog(await as('one.'), options)).rejects.toMatchObject({
        name: 'LogRefused',
        message: expect.stringContaining('one.ledgers-rows is missing or hidden'),
      });
    });

    test('topics that the user may not create or delete are refused with the reason', async () => {
      const logId = await fill('two.');
      await deny('copy.', AclOperationTypes.CREATE);
      const copy = openLogRestore(await as('copy.'), { logId, partitions: 2, groups: [] });
      expect(await refusalOf(copy)).toMatch(/authoriz/i);
      await deny('two.', AclOperationTypes.DELETE);
      const replacedBy = { prefix: 'new.', restore: 'r', topics: ['two.turns'], isDeleted: false };
      expect(await refusalOf(deleteReplaced(await as('two.'), { logId, replacedBy }))).toMatch(/authoriz/i);
    });
  },
  start,
);
