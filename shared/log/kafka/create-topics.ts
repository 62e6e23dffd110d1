import type { ITopicConfig } from 'kafkajs';
import { topics } from '../../events/define-event.ts';
import { logError } from '../errors.ts';
import type { KafkaConnection } from './connection.ts';
import { talking, whenLed } from './kafka-errors.ts';
import { checkRetention } from './retention.ts';
import { openTopicReader } from './topic-reader.ts';

/** Every topic of the log with all of its settings. */
export type TopicPlan = {
  readonly topic: string;
  readonly partitions: number;
  readonly settings: Readonly<Record<string, string>>;
};

/** Largest event that `append` takes, bytes of JSON, unless a log is told otherwise. */
export const maxRecordBytes = 16 * 2 ** 20;

/** What every topic of ours has: nothing is deleted unless someone trims it. */
const kept = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };

/**
 * A batch is measured as it comes, compressed, with what stands around the records, and what a fold emits may
 * be larger than what was appended: twice the limit of `append`.
 */
const batchLimit = (recordBytes: number) => ({ 'max.message.bytes': String(2 * recordBytes) });

/** The topics of facts, and the one whose first record names the log. */
export function planTopics(
  connection: KafkaConnection,
  partitions: number,
  recordBytes: number,
): readonly TopicPlan[] {
  const settings = { ...kept, ...batchLimit(recordBytes) };
  return [
    ...topics.map((topic) => ({ topic: connection.topicName(topic), partitions, settings })),
    { topic: connection.metaTopic, partitions: 1, settings: kept },
  ];
}

/** A group's rows, in as many partitions as its input: of each key the last value is kept. */
export function planRowsTopic(
  connection: KafkaConnection,
  group: string,
  partitions: number,
  recordBytes: number,
): TopicPlan {
  return {
    topic: connection.rowsTopic(group),
    partitions,
    settings: {
      'cleanup.policy': 'compact',
      // Who takes a partition over reads it whole: kept short.
      'segment.bytes': '67108864',
      'min.cleanable.dirty.ratio': '0.2',
      ...batchLimit(recordBytes),
    },
  };
}

export type CreateOptions = {
  /** A topic may have another number of partitions. */
  readonly anyPartitions?: boolean;
  /** A topic may delete its records: for commands that only look. */
  readonly anyRetention?: boolean;
};

/**
 * Creates the topics that are not there yet, and returns their names once each of their partitions has a
 * leader. Replicas and in-sync minimum are the cluster's defaults. Existing topics are not changed.
 * @throws LogMismatch where a topic has another number of partitions, or deletes records; LogRefused where its
 * settings may not be read
 */
export function createTopics(
  connection: KafkaConnection,
  plans: readonly TopicPlan[],
  { anyPartitions = false, anyRetention = false }: CreateOptions = {},
): Promise<readonly string[]> {
  return talking('creating topics', async () => {
    const admin = connection.kafka.admin();
    try {
      await admin.connect();
      const missing = await whenLed(async () => {
        const present = new Set(await admin.listTopics());
        const absent = plans.filter(({ topic }) => !present.has(topic));
        // One that another process creates meanwhile is no error.
        if (absent.length > 0) {
          await admin.createTopics({ waitForLeaders: false, topics: absent.map(asConfig) });
        }
        return absent.map(({ topic }) => topic);
      });
      const present = plans.filter(({ topic }) => !missing.includes(topic));
      await untilLed(connection, plans, anyPartitions);
      if (!anyRetention && present.length > 0) await checkRetention(admin, present);
      return missing;
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  });
}

const asConfig = ({ topic, partitions, settings }: TopicPlan): ITopicConfig => ({
  topic,
  numPartitions: partitions,
  configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
});

/** A fresh topic's first use fails until each partition's leader knows that it is one. */
async function untilLed(
  { kafka }: KafkaConnection,
  plans: readonly TopicPlan[],
  anyPartitions: boolean,
): Promise<void> {
  const reader = openTopicReader(kafka);
  try {
    for (const { topic, partitions } of plans) {
      const found = (await reader.offsets(topic, 'end')).length;
      if (!anyPartitions && found !== partitions) throw otherPartitions(topic, found, partitions);
    }
  } finally {
    await reader.close();
  }
}

/** Keys and rows go by the number of partitions: no fold may run over topics that differ in it. */
const otherPartitions = (topic: string, found: number, asked: number): Error =>
  logError(
    'LogMismatch',
    `${topic} was made with ${found} partitions, which is fixed; ${asked} are asked for`,
  );
