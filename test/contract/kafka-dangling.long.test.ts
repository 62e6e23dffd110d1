import { expect, test } from 'vitest';
import { startKafka } from '../../infra/kafka/start-kafka.ts';
import { createCluster } from '../../shared/log/kafka/kafkajs-internals.ts';
import {
  expectedLedger,
  ledger,
  ledgers,
  readLedger,
  startedMany,
  untilLevel,
} from './event-log-fixtures.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';
import { logForEach } from './log-harness.ts';

const lanes = 9;

/** What kafkajs' broker can do beyond its types. */
type RawBroker = {
  readonly initProducerId: (request: {
    readonly transactionalId: string;
    readonly transactionTimeout: number;
  }) => Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
  readonly produce: (request: object) => Promise<unknown>;
};

describeWithKafka(
  'a Kafka that lost track of a transaction',
  (node) => {
    const on = logForEach(() => kafkaHarness(node()));

    /** Records that no coordinator will ever mark, because their partitions were never added to a transaction. */
    const leaveOpen = async (transactionalId: string, topics: readonly string[]): Promise<void> => {
      const cluster = createCluster(on.harness.at.kafka);
      await cluster.connect();
      await cluster.addMultipleTargetTopics([...topics]);
      const leader = cluster.findLeaderForPartitions(topics[0]!, [0]);
      const broker = (await cluster.findBroker({ nodeId: Object.keys(leader)[0]! })) as unknown as RawBroker;
      const producer = await broker.initProducerId({ transactionalId, transactionTimeout: 10_000 });
      const messages = [{ key: 'dangling', value: '{"no":"event"}', timestamp: Date.now(), headers: {} }];
      await broker.produce({
        ...producer,
        transactionalId,
        topicData: topics.map((topic) => ({
          topic,
          partitions: [{ partition: 0, firstSequence: 0, messages }],
        })),
      });
      await cluster.disconnect();
    };

    test('the next owner ends it, the fold continues, and none of its records count', async () => {
      const first = await on.harness.open();
      const working = first.process(ledger, ledgers, on.stop.signal);
      await first.append(startedMany(30, lanes));
      await untilLevel(first, 'ledgers');
      on.stop.abort();
      await working;
      const id = on.harness.at.transactionalId('ledgers', 'conversations', 0);
      await leaveOpen(id, [on.harness.at.rowsTopic('ledgers'), on.harness.at.topicName('turns')]);

      const second = await on.harness.open();
      const stop = new AbortController();
      const again = second.process(ledger, ledgers, stop.signal);
      await second.append(startedMany(60, lanes).slice(30));
      await untilLevel(second, 'ledgers', 60_000);
      expect(await readLedger(second)).toEqual(expectedLedger(60, lanes));
      stop.abort();
      await again;
    });
  },
  // otherwise Kafka itself refuses partitions that were not added before
  (folder) => startKafka({ folder, settings: { 'transaction.partition.verification.enable': 'false' } }),
);
