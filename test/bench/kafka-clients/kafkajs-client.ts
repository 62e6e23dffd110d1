import type { Producer } from 'kafkajs';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { whenCoordinated } from '../../../shared/log/kafka/kafka-errors.ts';
import { CompressionTypes, Partitioners } from '../../../shared/log/kafka/kafkajs.ts';
import { openTopicReader } from '../../../shared/log/kafka/topic-reader.ts';
import { isCompressed, type OpenTrialClient, type TrialRecord } from './trial-client.ts';

const settings = {
  idempotent: true,
  maxInFlightRequests: 1,
  createPartitioner: Partitioners.DefaultPartitioner,
  retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 20 },
};

/** kafkajs with the settings and the reader of the log. */
export const openKafkaJs: OpenTrialClient = async (brokers) => {
  const { kafka } = connectTo({ brokers });
  const sendWith = (producer: Pick<Producer, 'send'>, topic: string, records: readonly TrialRecord[]) =>
    producer.send({
      topic,
      acks: -1,
      compression: isCompressed(records) ? CompressionTypes.ZSTD : CompressionTypes.None,
      messages: [...records],
    });
  return {
    openSender: async () => {
      const producer = kafka.producer(settings);
      await producer.connect();
      return {
        append: async (topic, records) => void (await sendWith(producer, topic, records)),
        close: () => producer.disconnect(),
      };
    },
    openTransactions: async (transactionalId) => {
      const producer = kafka.producer({ ...settings, transactionalId });
      await producer.connect();
      return {
        commit: async (topic, records, next) => {
          const transaction = await producer.transaction();
          await sendWith(transaction, topic, records);
          const offsets = {
            consumerGroupId: transactionalId,
            topics: [{ topic, partitions: [{ partition: 0, offset: String(next) }] }],
          };
          await whenCoordinated(() => transaction.sendOffsets(offsets));
          await transaction.commit();
        },
        close: () => producer.disconnect(),
      };
    },
    follow: async (topic, from, onValues) => {
      const reader = openTopicReader(kafka);
      const next = new Map(from.entries());
      let isClosed = false;
      const reading = (async () => {
        while (!isClosed)
          for (const fetched of await reader.fetch(topic, next, { waitMs: 500 })) {
            next.set(fetched.partition, fetched.next);
            if (fetched.records.length > 0) onValues(fetched.records.map(({ value }) => value!));
          }
      })();
      return {
        close: async () => {
          isClosed = true;
          await reading;
          await reader.close();
        },
      };
    },
  };
};
