import { randomUUID } from 'node:crypto';
import type { KafkaNode } from '../../infra/kafka/start-kafka.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openAppendQueue } from '../../shared/log/kafka/append-queue.ts';
import { connectTo, type KafkaConnection } from '../../shared/log/kafka/connection.ts';
import { recordOfBody } from '../../shared/log/kafka/messages.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import type { LogHarness } from './log-harness.ts';

const partitions = 3;

export type KafkaHarness = Omit<LogHarness, 'open'> & {
  readonly at: KafkaConnection;
  readonly open: (options?: {
    readonly sessionTimeoutMs?: number;
    readonly deliveryTimeoutMs?: number;
  }) => Promise<EventLog>;
};

/** A log of its own, by its prefix, on a cluster that several share. */
export async function kafkaHarness(node: KafkaNode, sessionTimeoutMs = 2_000): Promise<KafkaHarness> {
  const place = { brokers: node.brokers, prefix: `t-${randomUUID().slice(0, 8)}.`, partitions };
  const at = connectTo(place);
  const opened: EventLog[] = [];
  return {
    at,
    opener: new URL('./kafka-event-log-opener.ts', import.meta.url).href,
    connection: { ...place, sessionTimeoutMs, deliveryTimeoutMs: 60_000 },
    sessionTimeoutMs,
    hasDenseOffsets: false,
    open: async (options) => {
      const log = await openKafkaLog({ ...place, sessionTimeoutMs, deliveryTimeoutMs: 60_000, ...options });
      opened.push(log);
      return log;
    },
    inject: async (topic, subject, body) => {
      const queue = openAppendQueue(at.kafka);
      await queue.append([recordOfBody(at, partitions, { topic, subject, type: '', body })], 10_000);
      await queue.close();
    },
    lose: async (topic, { partition, offset }) => {
      const admin = at.kafka.admin();
      await admin.connect();
      const name = at.topicName(topic);
      await admin.fetchTopicOffsets(name); // otherwise kafkajs does not know its leader
      await admin.deleteTopicRecords({
        topic: name,
        partitions: [{ partition, offset: String(offset + 1) }],
      });
      await admin.disconnect();
    },
    dispose: async () => {
      await Promise.all(opened.map((log) => log.close()));
      const admin = at.kafka.admin();
      await admin.connect();
      const mine = (await admin.listTopics()).filter((topic) => topic.startsWith(place.prefix));
      if (mine.length > 0) await admin.deleteTopics({ topics: mine });
      await admin.disconnect();
    },
  };
}
