import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import { topics } from '../../events/define-event.ts';
import { type ChainHead, linkAfter } from '../chain.ts';
import { logError } from '../errors.ts';
import { type AppendQueue, openAppendQueue } from './append-queue.ts';
import { inOrderOfCommit, readLastValues } from './changelog.ts';
import { connectTo, type KafkaConnection, type KafkaConnectionOptions } from './connection.ts';
import { createTopics, maxRecordBytes, planKeysTopic, planRowsTopic, planTopics } from './create-topics.ts';
import { deleteBefore } from './delete-records.ts';
import { openFilling, type StoredRecord } from './fill-partition.ts';
import { endsBefore, type StoredRow } from './follow-rows.ts';
import { openGroupOffsets } from './group-offsets.ts';
import { type LaneStore, openLane } from './lane.ts';
import type { GroupOfLog, PartitionRange } from './log-cut.ts';
import { chainedRecord, intoSends, type OutgoingRecord, recordOfEvent } from './messages.ts';
import { beginRestore, finishRestore, readMeta } from './meta.ts';
import { openTopicReader, type TopicReader } from './topic-reader.ts';
import { deleteTopics, topicsOf } from './topics-of-log.ts';

/** What is restored. */
export type RestoredLog = {
  readonly logId: string;
  readonly partitions: number;
  readonly groups: readonly GroupOfLog[];
  /** The access keys come with the log, so their topic has to be empty, too. */
  readonly withKeys?: boolean;
};

/**
 * Writes a log into empty topics. No service opens them before `finish`: until then the meta topic says that the log is
 * not complete, and a later restore begins again.
 */
export type LogRestore = {
  /**
   * Writes and checks the records of a partition.
   * @param link of the chain before the first record
   * @throws LogMismatch when the topic then has other records than the head covers
   */
  readonly partition: (
    range: PartitionRange,
    records: AsyncIterable<readonly StoredRecord[]>,
    chain: { readonly link: string; readonly head: ChainHead },
  ) => Promise<void>;
  /** Writes and checks the rows of a group's partition, and commits the position. */
  readonly rows: (group: GroupOfLog, partition: number, values: ReadonlyMap<string, string>) => Promise<void>;
  /** Appends an event behind the records. */
  readonly append: (event: ClawLoopEvent) => Promise<void>;
  /** Writes the entries of the access keys, in order. */
  readonly keys: (entries: readonly StoredRow[]) => Promise<void>;
  /** Names the log: it is complete. @returns the name of the restore */
  readonly finish: () => Promise<string>;
  readonly close: () => Promise<void>;
};

/** ms for one send, through an outage of the brokers */
const SEND_MS = 60_000;

type Restoring = LaneStore & { readonly queue: AppendQueue };

/**
 * Begins a restore: removes what an unfinished one left, and creates the topics.
 * @throws LogMismatch when the topics hold a log or records; LogUnavailable
 */
export async function openLogRestore(
  options: KafkaConnectionOptions,
  { logId, partitions, groups, withKeys = false }: RestoredLog,
): Promise<LogRestore> {
  const connection = connectTo(options);
  const { kafka } = connection;
  const [query, queue, offsets] = [openTopicReader(kafka), openAppendQueue(kafka), openGroupOffsets(kafka)];
  const store: Restoring = { connection, query, queue, offsets };
  const close = async () => void (await Promise.all([query.close(), queue.close(), offsets.close()]));
  const restore = { logId, restore: randomUUID() };
  try {
    const keys = withKeys ? [planKeysTopic(connection)] : [];
    await claimTopics(
      store,
      restore,
      keys.map(({ topic }) => topic),
    );
    await createTopics(connection, [
      ...planTopics(connection, partitions, maxRecordBytes),
      ...groups.map(({ group }) => planRowsTopic(connection, group, partitions, maxRecordBytes)),
      ...keys,
    ]);
    await requireEmpty(store, [
      ...topics.map(connection.topicName),
      ...groups.map(({ group }) => connection.rowsTopic(group)),
      ...keys.map(({ topic }) => topic),
    ]);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    partition: (range, records, chain) => writePartition(store, range, records, chain),
    rows: (group, partition, values) => writeRows(store, group, partition, values),
    append: (event) => queue.append([recordOfEvent(connection, event, partitions)], SEND_MS),
    keys: (entries) => writeKeys(store, entries),
    finish: async () => {
      await finishRestore(store, restore, SEND_MS);
      return restore.restore;
    },
    close,
  };
}

/** Whether a restore could begin. @throws LogMismatch when the topics hold a log */
export async function requireNoLog(options: KafkaConnectionOptions): Promise<void> {
  const connection = connectTo(options);
  const query = openTopicReader(connection.kafka);
  try {
    if ((await topicsOf(connection)).includes(connection.metaTopic))
      refuseLog(connection, await readMeta({ connection, query }));
  } finally {
    await query.close();
  }
}

const refuseLog = ({ metaTopic }: KafkaConnection, { kind }: Awaited<ReturnType<typeof readMeta>>): void => {
  if (kind === 'named')
    throw logError(
      'LogMismatch',
      `the topics of ${metaTopic} hold a log already: give another --kafka-prefix or other brokers`,
    );
};

/** @param more topics that an unfinished restore may have left */
async function claimTopics(
  store: Restoring,
  restore: Parameters<typeof beginRestore>[1],
  more: readonly string[],
): Promise<void> {
  const { connection } = store;
  const found = await topicsOf(connection);
  if (found.includes(connection.metaTopic)) {
    const meta = await readMeta(store);
    refuseLog(connection, meta);
    if (meta.kind === 'unfinished') {
      // The meta topic last: with it, the others are known to be unfinished.
      await deleteTopics(connection, [...found.filter((name) => name !== connection.metaTopic), ...more]);
      await deleteTopics(connection, [connection.metaTopic]);
    }
  }
  const meta = planTopics(connection, 1, maxRecordBytes).filter(
    ({ topic }) => topic === connection.metaTopic,
  );
  await createTopics(connection, meta);
  await beginRestore(store, restore, SEND_MS);
  const claimed = await readMeta(store);
  if (claimed.kind !== 'unfinished' || claimed.restore !== restore.restore)
    throw logError(
      'LogMismatch',
      `another program has begun to write to ${connection.metaTopic}: give another --kafka-prefix`,
    );
}

async function requireEmpty({ query }: Restoring, names: readonly string[]): Promise<void> {
  for (const name of names)
    if ((await query.offsets(name, 'end')).some((end) => end > 0))
      throw logError('LogMismatch', `${name} is not empty: delete it, or give another --kafka-prefix`);
}

async function writePartition(
  { connection, query, queue }: Restoring,
  { topic, partition, start, end }: PartitionRange,
  records: AsyncIterable<readonly StoredRecord[]>,
  { link, head }: { readonly link: string; readonly head: ChainHead },
): Promise<void> {
  const name = connection.topicName(topic);
  const filling = openFilling({ topic: name, partition });
  const send = openSender(queue);
  for await (const some of records)
    for (const record of some) for (const one of filling.add(record)) await send.add(one);
  for (const one of filling.fill(end)) await send.add(one);
  await send.flush();
  if (start > 0) await deleteBefore(connection, name, { partition, offset: start });
  const [starts, ends] = [await query.offsets(name, 'start'), await query.offsets(name, 'end')];
  const isInPlace = starts[partition] === start && ends[partition] === end;
  if (!isInPlace || (await linkOf(query, { name, partition, start, end }, link)) !== head.head)
    throw logError(
      'LogMismatch',
      `${name}/${partition} has other records than were restored; does the cluster set their time (message.timestamp.type), or does another program write there?`,
    );
}

type Written = {
  readonly name: string;
  readonly partition: number;
  readonly start: number;
  readonly end: number;
};

/** The link after all records of a partition. @param link before the first */
async function linkOf(
  query: TopicReader,
  { name, partition, start, end }: Written,
  link: string,
): Promise<string> {
  let found = link;
  for (let at = start; at < end; ) {
    const [fetched] = await query.fetch(name, new Map([[partition, at]]), { waitMs: 100 });
    if (fetched === undefined) continue;
    if (fetched.end < end) throw endsBefore(name, partition, fetched.end, end);
    for (const raw of fetched.records) found = linkAfter(found, [chainedRecord(raw)]);
    at = fetched.next;
  }
  return found;
}

/** Sends one batch at a time. */
function openSender(queue: AppendQueue) {
  let waiting: OutgoingRecord[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    for (const send of intoSends(waiting)) await queue.append(send, SEND_MS);
    waiting = [];
    bytes = 0;
  };
  return {
    flush,
    add: async (record: OutgoingRecord): Promise<void> => {
      waiting.push(record);
      bytes += record.bytes;
      if (waiting.length >= 2_000 || bytes >= 2 ** 21) await flush();
    },
  };
}

async function writeKeys({ connection, queue }: Restoring, entries: readonly StoredRow[]): Promise<void> {
  const topic = connection.keysTopic;
  const send = openSender(queue);
  for (const { key, value } of entries)
    await send.add({
      topic,
      message: { key, value, partition: 0 },
      bytes: key.length + (value?.length ?? 0),
    });
  await send.flush();
}

async function writeRows(
  store: Restoring,
  { group, topic }: GroupOfLog,
  partition: number,
  values: ReadonlyMap<string, string>,
): Promise<void> {
  const name = store.connection.rowsTopic(group);
  const send = openSender(store.queue);
  for (const [key, value] of inOrderOfCommit(values))
    await send.add({
      topic: name,
      message: { key, value, partition },
      bytes: key.length + Buffer.byteLength(value),
    });
  await send.flush();
  if (!isDeepStrictEqual(await readLastValues(store, name, partition), values))
    throw logError(
      'LogMismatch',
      `${name}/${partition} has other rows than were restored: does another program write there?`,
    );
  if (topic === null) return; // the services commit the position when they take the partition
  const lane = await openLane(store, { group, topic, partition });
  try {
    await lane.commit({ records: [], next: lane.changelog.position ?? 0, stopped: null });
  } finally {
    await lane.close();
  }
}
