import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kafka, Message } from 'kafkajs';
import { whyNoKafka } from '../../infra/kafka/jars.ts';
import { startKafka } from '../../infra/kafka/start-kafka.ts';
import type { SessionStarted } from '../../shared/events/session-started.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { CompressionTypes, Partitioners } from '../../shared/log/kafka/kafkajs.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import {
  type BareLog,
  batch,
  batched,
  benchOpenLog,
  events,
  type LogBenchRow,
  perSecond,
  printRows,
  skipped,
} from './log.ts';

const topic = 'bare';
/** Records of one bare transaction: as many as the log folds in one. */
const perTransaction = 400;

/**
 * The log on a Kafka of this machine next to kafkajs alone: one idempotent producer, a consumer, and transactions of
 * the same size with their offsets, all in this thread, without rows to load and without leases. If Kafka cannot be
 * started, it only prints the reason.
 */
export async function benchKafkaLog(): Promise<readonly LogBenchRow[]> {
  const missing = whyNoKafka();
  if (missing !== null) {
    console.log(`\nno figures of the log on Kafka: ${missing}`);
    return [];
  }
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-bench-kafka-'));
  const node = await startKafka({ folder });
  try {
    const { brokers } = node;
    const bare = await openBare(connectTo({ brokers }).kafka);
    const log = await openKafkaLog({ brokers });
    await warmUp((i) => log.append(events(i, batch).map(({ id, subject }) => skipped(id, subject))));
    const rows = await benchOpenLog(log, bare);
    await log.close();
    await bare.close();
    printRows('Event log on Kafka', 'bare kafkajs', rows);
    return rows;
  } finally {
    await node.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

const messages = (written: readonly SessionStarted[]): Message[] =>
  written.map((event) => ({ key: event.subject, value: JSON.stringify(event) }));

const common = {
  idempotent: true,
  maxInFlightRequests: 1,
  createPartitioner: Partitioners.DefaultPartitioner,
};
const compression = CompressionTypes.ZSTD;

/** A broker is slow at first after its start or the creation of a topic; this must not affect either side. */
async function warmUp(append: (from: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < batched; i += batch) await append(i);
}

async function openBare(kafka: Kafka): Promise<BareLog & { readonly close: () => Promise<void> }> {
  const admin = kafka.admin();
  await admin.connect();
  const settings = [{ name: 'max.message.bytes', value: '8000000' }];
  const made = { numPartitions: 3, configEntries: settings };
  await admin.createTopics({ topics: [topic, `${topic}-out`].map((name) => ({ topic: name, ...made })) });
  await admin.disconnect();
  const producer = kafka.producer(common);
  await producer.connect();
  const send = (to: string, written: readonly SessionStarted[]) =>
    producer.send({
      topic: to,
      acks: -1,
      compression: written.length > 1 ? compression : CompressionTypes.None,
      messages: messages(written),
    });
  await warmUp((i) => send(`${topic}-out`, events(i, batch)));
  return {
    append: (written) => send(topic, written),
    read: (round) => benchRead(kafka, round),
    process: (round) => benchProcess(kafka, round),
    close: () => producer.disconnect(),
  };
}

async function benchRead(kafka: Kafka, round: number): Promise<number> {
  let seen = 0;
  const all = Promise.withResolvers<number>();
  const consumer = kafka.consumer({ groupId: `${topic}-read-${round}`, maxWaitTimeInMs: 100 });
  let joined = 0;
  consumer.on(consumer.events.GROUP_JOIN, () => {
    joined = performance.now();
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: read }) => {
      for (const { value } of read.messages) JSON.parse(String(value));
      seen += read.messages.length;
      if (seen >= batched) all.resolve((1_000 * seen) / (performance.now() - joined));
    },
  });
  const figure = await all.promise;
  await consumer.disconnect();
  return figure;
}

/** One transactional producer: one event and its row out per event in, and the offsets. */
async function benchProcess(kafka: Kafka, round: number): Promise<number> {
  const producer = kafka.producer({ ...common, transactionalId: `${topic}-${round}` });
  await producer.connect();
  await (await producer.transaction()).abort();
  const figure = await perSecond(batched, async () => {
    for (let i = 0; i < batched; i += perTransaction) {
      const read = events(i, perTransaction).map((event) => JSON.stringify(event));
      const out = read.map((body): Message => {
        const { id, subject } = JSON.parse(body) as { id: string; subject: string };
        return { key: subject, value: JSON.stringify(skipped(id, subject)) };
      });
      const rows = [...new Set(out.map(({ key }) => key))].map((key): Message => ({ key: key!, value: '1' }));
      const transaction = await producer.transaction();
      await transaction.send({ topic: `${topic}-out`, acks: -1, compression, messages: [...out, ...rows] });
      const offset = { partition: 0, offset: String(i) };
      await transaction.sendOffsets({
        consumerGroupId: `${topic}-process-${round}`,
        topics: [{ topic, partitions: [offset] }],
      });
      await transaction.commit();
    }
  });
  await producer.disconnect();
  return figure;
}
