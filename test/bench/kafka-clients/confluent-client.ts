import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isCompressed, type OpenTrialClient, type TrialClient, type TrialRecord } from './trial-client.ts';

/** The part of `@confluentinc/kafka-javascript` that the trial uses. */
type Batch = { readonly topic: string; readonly messages: readonly object[] };
type Member = { readonly connect: () => Promise<void>; readonly disconnect: () => Promise<void> };
type Transaction = {
  readonly send: (batch: Batch) => Promise<unknown>;
  readonly sendOffsets: (offsets: object) => Promise<void>;
  readonly commit: () => Promise<void>;
};
type Producer = Member & Transaction & { readonly transaction: () => Promise<Transaction> };
type Client = {
  readonly producer: (settings: object) => Producer;
  readonly consumer: (settings: object) => Member;
};
type Message = { readonly value: Buffer };
type Reader = {
  readonly connect: (options: object, done: (error: Error | null) => void) => void;
  readonly disconnect: (done: () => void) => void;
  readonly assign: (places: readonly object[]) => void;
  readonly setDefaultConsumeTimeout: (ms: number) => void;
  /** Without it, a reader waits for the whole timeout unless it gets all records that it asks for. */
  readonly setDefaultIsTimeoutOnlyForFirstMessage: (only: boolean) => void;
  readonly consume: (
    count: number,
    done: (error: Error | null, messages: readonly Message[]) => void,
  ) => void;
};
type Confluent = {
  readonly KafkaJS: { readonly Kafka: new (settings: object) => Client };
  readonly KafkaConsumer: new (settings: object, topicSettings: object) => Reader;
};

export const openConfluent: OpenTrialClient = async (brokers, folder) => {
  const load = createRequire(join(folder, 'package.json'));
  const { KafkaJS, KafkaConsumer } = load('@confluentinc/kafka-javascript') as Confluent;
  const kafka = new KafkaJS.Kafka({ kafkaJS: { brokers, logLevel: 0 } });
  // A producer has one compression. 0 ms: do not wait for further records.
  const producerOf = async (more: object, compressed: boolean): Promise<Producer> => {
    const settings = { 'linger.ms': 0, 'compression.codec': compressed ? 'zstd' : 'none' };
    const producer = kafka.producer({ ...settings, kafkaJS: { idempotent: true, ...more } });
    await producer.connect();
    return producer;
  };
  const batchOf = (topic: string, records: readonly TrialRecord[]): Batch => ({ topic, messages: records });
  return {
    openSender: async () => {
      const plain = await producerOf({}, false);
      const packed = await producerOf({}, true);
      return {
        append: async (topic, records) => {
          await (isCompressed(records) ? packed : plain).send(batchOf(topic, records));
        },
        close: async () => void (await Promise.all([plain.disconnect(), packed.disconnect()])),
      };
    },
    openTransactions: async (groupId) => {
      const producer = await producerOf({ transactionalId: groupId }, true);
      // Offsets need a connected consumer of the group, even if it never subscribes.
      const consumer = kafka.consumer({ kafkaJS: { groupId, autoCommit: false } });
      await consumer.connect();
      return {
        commit: async (topic, records, next) => {
          const transaction = await producer.transaction();
          await transaction.send(batchOf(topic, records));
          const topics = [{ topic, partitions: [{ partition: 0, offset: String(next) }] }];
          await transaction.sendOffsets({ consumer, topics });
          await transaction.commit();
        },
        close: async () => void (await Promise.all([producer.disconnect(), consumer.disconnect()])),
      };
    },
    follow: followWith(KafkaConsumer, brokers),
  };
};

/** The low-level consumer, which reads partitions without joining a group. */
const followWith =
  (KafkaConsumer: Confluent['KafkaConsumer'], brokers: readonly string[]): TrialClient['follow'] =>
  async (topic, from, onValues) => {
    const reader = new KafkaConsumer(
      {
        'metadata.broker.list': brokers.join(','),
        'group.id': 'trial-unused',
        'enable.auto.commit': false,
        'isolation.level': 'read_committed',
        'fetch.wait.max.ms': 500,
        'fetch.message.max.bytes': 2 * 2 ** 20,
      },
      { 'auto.offset.reset': 'error' },
    );
    await new Promise<void>((resolve, reject) =>
      reader.connect({}, (error) => (error ? reject(error) : resolve())),
    );
    reader.setDefaultConsumeTimeout(500);
    reader.setDefaultIsTimeoutOnlyForFirstMessage(true);
    reader.assign(from.map((offset, partition) => ({ topic, partition, offset })));
    let isClosed = false;
    const some = () =>
      new Promise<readonly Message[]>((resolve, reject) =>
        reader.consume(1_000, (error, messages) => (error ? reject(error) : resolve(messages))),
      );
    const reading = (async () => {
      while (!isClosed) {
        const messages = await some();
        if (messages.length > 0) onValues(messages.map(({ value }) => value));
      }
    })();
    return {
      close: async () => {
        isClosed = true;
        await reading;
        await new Promise<void>((resolve) => reader.disconnect(resolve));
      },
    };
  };
