import type { ITopicConfig } from 'kafkajs';
import { topics } from '../../events/define-event.ts';
import { logError } from '../errors.ts';
import type { KafkaConnection } from './connection.ts';
import { talking, whenLed } from './kafka-errors.ts';
import { checkRetention, type TopicPlan } from './retention.ts';
import { openTopicReader } from './topic-reader.ts';

/** Default of the largest event that `append` accepts, bytes of JSON. */
export const maxRecordBytes = 16 * 2 ** 20;

/** Settings of every topic of the log: records are deleted only if someone trims the topic. */
const keepRecords = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };

/**
 * Twice the limit of `append`: the broker measures the compressed batch with its framing, and an event that a
 * fold emits may be larger than its input.
 */
const batchLimit = (recordBytes: number) => ({ 'max.message.bytes': String(2 * recordBytes) });

/** The topics of facts, and the meta topic, whose first record names the log. */
export function planTopics(
  connection: KafkaConnection,
  partitions: number,
  recordBytes: number,
): readonly TopicPlan[] {
  const settings = { ...keepRecords, ...batchLimit(recordBytes) };
  return [
    ...topics.map((topic) => ({ topic: connection.topicName(topic), partitions, settings })),
    { topic: connection.metaTopic, partitions: 1, settings: keepRecords },
  ];
}

/** The topic of a group's rows: as many partitions as its input, compacted to the last value of each key. */
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
      // Compact early: a member that takes over a partition reads all of it.
      'segment.bytes': '67108864',
      'min.cleanable.dirty.ratio': '0.2',
      ...batchLimit(recordBytes),
    },
  };
}

/** The topic of the access keys: small, and compacted to the last value of each name. */
export const planKeysTopic = (connection: KafkaConnection): TopicPlan => ({
  topic: connection.keysTopic,
  partitions: 1,
  settings: {
    'cleanup.policy': 'compact',
    // Compaction leaves the latest segment alone: a new one per day lets go of the names of removed keys.
    'segment.ms': '86400000',
    'min.cleanable.dirty.ratio': '0.2',
  },
});

export type CreateOptions = {
  /** Accept topics with a different number of partitions. */
  readonly anyPartitions?: boolean;
  /** Accept topics that delete records: for read-only commands. */
  readonly anyRetention?: boolean;
};

/**
 * Creates missing topics, and returns their names once every partition has a leader. Replication and in-sync
 * minimum are the cluster's defaults. Existing topics are not changed.
 * @throws LogMismatch if a topic has a different number of partitions, or deletes records; LogRefused if the
 * user may not read its settings
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
        // A topic that another process creates at the same time is not an error.
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

/** The first use of a new topic fails until each partition's leader knows its role. */
async function untilLed(
  { kafka }: KafkaConnection,
  plans: readonly TopicPlan[],
  anyPartitions: boolean,
): Promise<void> {
  const reader = openTopicReader(kafka);
  try {
    for (const { topic, partitions } of plans) {
      const actual = (await reader.offsets(topic, 'end')).length;
      if (!anyPartitions && actual !== partitions) throw otherPartitions(topic, actual, partitions);
    }
  } finally {
    await reader.close();
  }
}

/** The number of partitions decides where keys and rows go, so a fold needs topics that agree on it. */
const otherPartitions = (topic: string, actual: number, expected: number): Error =>
  logError(
    'LogMismatch',
    `${topic} was created with ${actual} partitions, which cannot change; ${expected} were configured: set --partitions ${actual}`,
  );
