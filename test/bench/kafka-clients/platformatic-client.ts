import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isCompressed, type OpenTrialClient, type TrialRecord } from './trial-client.ts';

/** The part of `@platformatic/kafka` that the trial uses. */
type Batch = {
  readonly acks: -1;
  readonly compression: 'zstd' | 'none';
  readonly messages: readonly object[];
};
type Transaction = {
  readonly send: (batch: Batch) => Promise<unknown>;
  readonly addConsumer: (consumer: { readonly groupId: string }) => Promise<void>;
  readonly addOffset: (message: object) => Promise<void>;
  readonly commit: () => Promise<void>;
};
type Producer = {
  readonly send: (batch: Batch) => Promise<unknown>;
  readonly beginTransaction: () => Promise<Transaction>;
  readonly close: (force: boolean) => Promise<void>;
};
type Stream = {
  readonly on: (event: 'data', listener: (message: { readonly value: Buffer }) => void) => void;
  readonly close: () => Promise<void>;
};
type Consumer = {
  readonly consume: (options: object) => Promise<Stream>;
  readonly findGroupCoordinator: () => Promise<number>;
  readonly close: (force: boolean) => Promise<void>;
};
type Platformatic = {
  readonly Producer: new (options: object) => Producer;
  readonly Consumer: new (options: object) => Consumer;
};

export const openPlatformatic: OpenTrialClient = async (brokers, folder) => {
  const entry = createRequire(join(folder, 'package.json')).resolve('@platformatic/kafka');
  const { Producer, Consumer } = (await import(pathToFileURL(entry).href)) as Platformatic;
  const common = { clientId: 'trial', bootstrapBrokers: brokers, retries: 100, retryDelay: 5 };
  // Without -1 for both, the client asks for the id of another producer, and Kafka refuses an id that is in use.
  const unknownId = { producerId: -1n, producerEpoch: -1 };
  const batchOf = (topic: string, records: readonly TrialRecord[]): Batch => ({
    acks: -1,
    compression: isCompressed(records) ? 'zstd' : 'none',
    messages: records.map(({ key, value, partition }) => ({
      topic,
      partition,
      value,
      key: Buffer.from(key),
    })),
  });
  return {
    openSender: async () => {
      const producer = new Producer({ ...common, idempotent: true });
      return {
        append: async (topic, records) => void (await producer.send(batchOf(topic, records))),
        close: () => producer.close(true),
      };
    },
    openTransactions: async (groupId) => {
      const producer = new Producer({ ...common, ...unknownId, idempotent: true, transactionalId: groupId });
      const consumer = new Consumer({ ...common, groupId });
      const coordinatorId = await consumer.findGroupCoordinator();
      await consumer.close(true);
      const member = { groupId, generationId: -1, memberId: '', coordinatorId };
      return {
        commit: async (topic, records, next) => {
          const transaction = await producer.beginTransaction();
          await transaction.send(batchOf(topic, records));
          await transaction.addConsumer({ groupId });
          const offset = BigInt(next) - 1n;
          await transaction.addOffset({ topic, partition: 0, offset, metadata: { consumer: member } });
          await transaction.commit();
        },
        close: () => producer.close(true),
      };
    },
    follow: async (topic, from, onValues) => {
      const consumer = new Consumer({ ...common, groupId: 'trial-unused' });
      const offsets = from.map((offset, partition) => ({ topic, partition, offset: BigInt(offset) }));
      const stream = await consumer.consume({
        topics: [topic],
        mode: 'manual',
        offsets,
        isolationLevel: 1,
        autocommit: false,
        maxWaitTime: 500,
        minBytes: 1,
        maxBytes: 8 * 2 ** 20,
        maxBytesPerPartition: 2 * 2 ** 20,
      });
      stream.on('data', ({ value }) => onValues([value]));
      return {
        close: async () => {
          await stream.close();
          await consumer.close(true);
        },
      };
    },
  };
};
