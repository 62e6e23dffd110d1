import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { parseEvent } from '../../events/parse-event.ts';
import { logError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { newerSchema } from '../fold-chunk.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
import { openAppendQueue } from './append-queue.ts';
import { atMost } from './at-most.ts';
import { connectTo, type KafkaConnectionOptions } from './connection.ts';
import { createTopics, maxRecordBytes as defaultRecordBytes, planTopics } from './create-topics.ts';
import { followTopic } from './follow-topic.ts';
import { openGroupOffsets } from './group-offsets.ts';
import { committedOf, lagOf, stretchesOf } from './groups.ts';
import { type KafkaStore, readBody, recordGone, untilAnswered } from './kafka-store.ts';
import { recordOfEvent } from './messages.ts';
import { processGroup } from './process-group.ts';
import { openRecordCache } from './record-cache.ts';
import { repairGroup } from './repair-group.ts';
import { openTopicReader } from './topic-reader.ts';
import { createTroubles } from './troubles.ts';
import { verifyTopic } from './verify-topic.ts';

export type KafkaLogOptions = KafkaConnectionOptions & {
  /** Fixed when the log is made (3 unless told); later only checked, if given. */
  readonly partitions?: number;
  /** ms after which a member that shows no life loses its partitions; 6,000 unless told. */
  readonly sessionTimeoutMs?: number;
  /** ms after which an append that is not durable is given up; 5,000 unless told. */
  readonly deliveryTimeoutMs?: number;
  /** Largest event that `append` takes, bytes of JSON; 16 MB unless told. What a fold emits may be larger. */
  readonly maxRecordBytes?: number;
  /** Topics may delete their records: for commands that only look. Else such topics are refused. */
  readonly anyRetention?: boolean;
  /** Called for each record that cannot be parsed, by whoever meets it: to be counted and logged. */
  readonly onRejected?: (rejected: RejectedRecord) => void;
  /** Called where a group goes on behind records that are gone: to be logged. */
  readonly onTrimmed?: (trimmed: TrimmedRecords) => void;
};

const defaultPartitions = 3;
const cachedCharacters = 32 * 2 ** 20;

/**
 * The log on a Kafka cluster, for any number of processes and machines. Topics that are missing are created.
 * Throws LogUnavailable where no broker answers, LogMismatch, NewerSchema.
 */
export async function openKafkaLog({
  partitions: asked,
  sessionTimeoutMs = 6_000,
  deliveryTimeoutMs = 5_000,
  maxRecordBytes = defaultRecordBytes,
  anyRetention = false,
  onRejected = () => undefined,
  onTrimmed = () => undefined,
  ...connecting
}: KafkaLogOptions): Promise<EventLog> {
  const connection = connectTo(connecting);
  const query = openTopicReader(connection.kafka);
  const offsets = openGroupOffsets(connection.kafka);
  const queue = openAppendQueue(connection.kafka);
  const closeAll = () => Promise.all([queue.close(), query.close(), offsets.close()]);
  const closing = new AbortController();
  const open = new Set<Promise<unknown>>();
  const appends = new Set<Promise<unknown>>();
  const untilOver = <Result>(promise: Promise<Result>, among = open): Promise<Result> => {
    among.add(promise);
    const over = () => void among.delete(promise);
    promise.then(over, over);
    return promise;
  };
  const orClosed = (signal: AbortSignal) => AbortSignal.any([signal, closing.signal]);
  const stillOpen = () => {
    if (closing.signal.aborted) throw logError('LogUnavailable', 'the log is closed');
  };

  const make = async (): Promise<{ readonly store: KafkaStore; readonly logId: string }> => {
    const plans = planTopics(connection, asked ?? defaultPartitions, maxRecordBytes);
    await createTopics(connection, plans, { anyPartitions: asked === undefined, anyRetention });
    const partitions = (await query.offsets(connection.topicName('conversations'), 'end')).length;
    if (asked === undefined)
      await createTopics(connection, planTopics(connection, partitions, maxRecordBytes), { anyRetention });
    const recent = openRecordCache(cachedCharacters);
    const store: KafkaStore = {
      ...{ connection, partitions, maxRecordBytes, sessionTimeoutMs, queue, query, offsets, recent },
      ...{ untilAnswered, troubles: createTroubles() },
    };
    return { store, logId: await findLogId(store, deliveryTimeoutMs) };
  };
  const { store, logId } = await make().catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });

  return {
    logId,

    append: async (events) => {
      stillOpen();
      if (events.length === 0) return;
      const records = events.map((event) => recordOfEvent(connection, event, store.partitions));
      for (const [index, { bytes }] of records.entries()) {
        if (bytes > maxRecordBytes) {
          throw logError('RecordTooLarge', `${events[index]!.id} is larger than ${maxRecordBytes} bytes`);
        }
      }
      await untilOver(queue.append(records, deliveryTimeoutMs), appends);
    },

    process: async (fold, options, signal) => {
      stillOpen();
      await untilOver(processGroup({ store, fold, options, onRejected, onTrimmed }, orClosed(signal)));
    },

    follow: (topic, from, onRecord, signal, wants) => {
      stillOpen();
      const following = followTopic(store, {
        ...{ topic, from, onRecord, onRejected, wants },
        signal: orClosed(signal),
      });
      untilOver(following.done).catch(() => undefined);
      return following;
    },

    read: async (topic, at) => {
      const body = await readBody(store, topic, at);
      if (body === null) throw recordGone(topic, at);
      const parsed = parseEvent(body);
      if (parsed.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
      if (parsed.kind !== 'event') {
        const why = parsed.kind === 'broken' ? parsed.error : `unknown type ${parsed.type}`;
        throw logError('BrokenRecord', `${topic}/${at.partition}/${at.offset} cannot be read: ${why}`);
      }
      return parsed.event;
    },

    ends: (topic) => query.offsets(connection.topicName(topic), 'end'),
    starts: (topic) => query.offsets(connection.topicName(topic), 'start'),
    hasDenseOffsets: false,
    lag: (group) => lagOf(store, group),
    troubles: store.troubles.of,
    stretches: (group) => stretchesOf(store, group),
    committed: (group) => committedOf(store, group),

    repair: (group, topic, options) => repairGroup(store, { group, topic }, options),

    verify: (topic, noted = []) => verifyTopic(store, topic, noted),

    close: async () => {
      closing.abort(logError('LogUnavailable', 'the log is closed'));
      await Promise.allSettled(open);
      // Of a broker that hangs nothing more is to be had: who appended keeps what is not known to be durable.
      await atMost(500, Promise.allSettled(appends));
      await atMost(1_000, closeAll());
    },
  };
}

const schemaVersion = 1;
const metaRecord = z.object({ logId: z.string(), schemaVersion: z.int() });

/** The first record of the meta topic names the log; of several processes that write one, the first wins. */
async function findLogId(store: KafkaStore, timeoutMs: number): Promise<string> {
  const { connection, query, queue } = store;
  const topic = connection.metaTopic;
  const first = async (): Promise<string | undefined> => {
    const [end] = await query.offsets(topic, 'end');
    if (end === 0) return undefined;
    const [fetched] = await query.fetch(topic, new Map([[0, 0]]), { waitMs: 1_000 });
    return fetched?.records[0]?.value?.toString('utf8');
  };
  let found = await first();
  if (found === undefined) {
    const value = Buffer.from(JSON.stringify({ logId: randomUUID(), schemaVersion }));
    const message = { key: 'log', value, partition: 0 };
    await queue.append([{ topic, message, bytes: value.length }], timeoutMs);
    found = await first();
  }
  if (found === undefined) throw logError('LogUnavailable', `${topic} cannot be read`);
  const meta = metaRecord.parse(JSON.parse(found));
  if (meta.schemaVersion > schemaVersion) {
    throw logError(
      'NewerSchema',
      `${topic} has schema ${meta.schemaVersion}; this version knows up to ${schemaVersion}`,
    );
  }
  return meta.logId;
}
