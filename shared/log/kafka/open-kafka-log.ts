import { logError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { eventAt } from '../fold-chunk.ts';
import { followWithin, type RejectedRecord, type TrimmedRecords } from '../following.ts';
import { createLifetime, createTracker } from '../log-lifetime.ts';
import { createTroubles } from '../troubles.ts';
import { openAppendQueue } from './append-queue.ts';
import { atMost } from './at-most.ts';
import { connectTo, type KafkaConnection, type KafkaConnectionOptions } from './connection.ts';
import { createTopics, maxRecordBytes as defaultRecordBytes, planTopics } from './create-topics.ts';
import { openRetention } from './delete-records.ts';
import { followTopic } from './follow-topic.ts';
import { openGroupOffsets } from './group-offsets.ts';
import { committedOf, lagOf, stretchesOf } from './groups.ts';
import { type KafkaStore, readBody, recordGone, untilAnswered } from './kafka-store.ts';
import { recordOfEvent } from './messages.ts';
import { findLogId } from './meta.ts';
import { processGroup } from './process-group.ts';
import { openRecordCache } from './record-cache.ts';
import { repairGroup } from './repair-group.ts';
import { openTopicReader, type TopicReader } from './topic-reader.ts';
import { verifyTopic } from './verify-topic.ts';

export type KafkaLogOptions = KafkaConnectionOptions & {
  /** Fixed when the log is created (default 3); later only checked, if given. */
  readonly partitions?: number;
  /** ms after which an unresponsive member loses its partitions; default 6,000. */
  readonly sessionTimeoutMs?: number;
  /** ms after which an append that is not durable times out; default 5,000. */
  readonly deliveryTimeoutMs?: number;
  /** Largest event that `append` accepts, bytes of JSON; default 16 MB. Events from a fold may be larger. */
  readonly maxRecordBytes?: number;
  /** Accept topics that delete records, which are refused by default: for read-only commands. */
  readonly anyRetention?: boolean;
  /** Called for each unparsable record, by every reader that meets it: to be counted and logged. */
  readonly onRejected?: (rejected: RejectedRecord) => void;
  /** Called when a group skips deleted records: to be logged. */
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
};

const defaultPartitions = 3;
const cachedCharacters = 32 * 2 ** 20;

/**
 * The log on a Kafka cluster, for any number of processes and machines. Creates missing topics.
 * Throws LogUnavailable if no broker answers, LogMismatch, NewerSchema.
 */
export async function openKafkaLog({
  partitions: configuredPartitions,
  sessionTimeoutMs = 6_000,
  deliveryTimeoutMs = 5_000,
  maxRecordBytes = defaultRecordBytes,
  anyRetention = false,
  onRejected = () => undefined,
  onTrimmed = () => undefined,
  ...connecting
}: KafkaLogOptions): Promise<EventLog> {
  const { store, logId, disconnect } = await openStore(connectTo(connecting), {
    configuredPartitions,
    sessionTimeoutMs,
    deliveryTimeoutMs,
    maxRecordBytes,
    anyRetention,
  });
  const { connection, queue, query } = store;
  const lifetime = createLifetime();
  const appends = createTracker();

  return {
    logId,

    append: async (events) => {
      lifetime.requireOpen();
      if (events.length === 0) return;
      const records = events.map((event) => recordOfEvent(connection, event, store.partitions));
      const large = records.findIndex(({ bytes }) => bytes > maxRecordBytes);
      if (large >= 0)
        throw logError('RecordTooLarge', `${events[large]!.id} is larger than ${maxRecordBytes} bytes`);
      await appends.track(queue.append(records, deliveryTimeoutMs));
    },

    process: async (fold, options, signal) => {
      lifetime.requireOpen();
      const processing = { store, fold, options, onRejected, onTrimmed };
      await lifetime.track(processGroup(processing, lifetime.orClosed(signal)));
    },

    follow: followWithin(lifetime, onRejected, (options) => followTopic(store, options)),

    read: async (topic, at) => {
      const body = await readBody(store, topic, at);
      if (body === null) throw recordGone(topic, at);
      return eventAt(topic, at, body);
    },

    ends: (topic) => query.offsets(connection.topicName(topic), 'end'),
    starts: (topic) => query.offsets(connection.topicName(topic), 'start'),
    hasDenseOffsets: false,
    lag: (group) => lagOf(store, group),
    troubles: store.troubles.of,
    stretches: (group) => stretchesOf(store, group),
    committed: (group) => committedOf(store, group),

    repair: (group, topic, options) => repairGroup(store, { group, topic }, options),

    verify: (topic, noted = [], trims = []) => verifyTopic(store, topic, noted, trims),
    retention: openRetention(store),

    close: async () => {
      await lifetime.close();
      // Do not wait for a broker that hangs: callers keep the events that are not yet durable.
      await atMost(500, appends.settled());
      await atMost(1_000, disconnect());
    },
  };
}

type StoreOptions = {
  readonly configuredPartitions: number | undefined;
  readonly sessionTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  readonly maxRecordBytes: number;
  readonly anyRetention: boolean;
};

async function openStore(
  connection: KafkaConnection,
  options: StoreOptions,
): Promise<{
  readonly store: KafkaStore;
  readonly logId: string;
  readonly disconnect: () => Promise<unknown>;
}> {
  const query = openTopicReader(connection.kafka);
  const offsets = openGroupOffsets(connection.kafka);
  const queue = openAppendQueue(connection.kafka);
  const disconnect = () => Promise.all([queue.close(), query.close(), offsets.close()]);
  try {
    const store: KafkaStore = {
      connection,
      partitions: await preparePartitions(connection, query, options),
      maxRecordBytes: options.maxRecordBytes,
      sessionTimeoutMs: options.sessionTimeoutMs,
      queue,
      query,
      offsets,
      recent: openRecordCache(cachedCharacters),
      untilAnswered,
      troubles: createTroubles(),
    };
    return { store, logId: await findLogId(store, options.deliveryTimeoutMs), disconnect };
  } catch (error) {
    await disconnect();
    throw error;
  }
}

/** Creates missing topics, and returns the number of partitions of the log. */
async function preparePartitions(
  connection: KafkaConnection,
  query: TopicReader,
  { configuredPartitions: configured, maxRecordBytes, anyRetention }: StoreOptions,
): Promise<number> {
  const plans = planTopics(connection, configured ?? defaultPartitions, maxRecordBytes);
  await createTopics(connection, plans, { anyPartitions: configured === undefined, anyRetention });
  const partitions = (await query.offsets(connection.topicName('conversations'), 'end')).length;
  if (configured === undefined)
    await createTopics(connection, planTopics(connection, partitions, maxRecordBytes), { anyRetention });
  return partitions;
}
