import { isDeepStrictEqual } from 'node:util';
import { type Topic, topics } from '../../events/define-event.ts';
import { type ChainHead, emptyChain, linkAfter } from '../chain.ts';
import { logError } from '../errors.ts';
import type { LogContents, PlacedGroup, PlacedRecord } from '../log-contents.ts';
import { foldChangelog, isRowKey, readLastValues } from './changelog.ts';
import { connectTo, type KafkaConnection, type KafkaConnectionOptions } from './connection.ts';
import { type Cut, findCut } from './find-cut.ts';
import type { StoredRow } from './follow-rows.ts';
import { openGroupOffsets } from './group-offsets.ts';
import { readKeyRecords } from './key-records.ts';
import {
  type GroupOfLog,
  groupsOf,
  neverStill,
  type PartitionRange,
  type ReadStore,
  rangesOf,
  recordsOf,
} from './log-cut.ts';
import { chainedRecord } from './messages.ts';
import { readMeta } from './meta.ts';
import { openOffsetsOfTopics } from './offsets-of-topics.ts';
import { toldTrims } from './told-trims.ts';
import { openTopicReader } from './topic-reader.ts';

/** A log at a moment without writes. It is read later, so `requireStill` says whether that moment still holds. */
export type StillLog = LogContents & {
  readonly logId: string;
  readonly connection: KafkaConnection;
  readonly partitions: number;
  readonly inputs: readonly GroupOfLog[];
  readonly ranges: readonly PartitionRange[];
  /** The committed records of a partition, in order. */
  readonly recordsIn: (range: PartitionRange) => ReturnType<typeof recordsOf>;
  /** The last value of each key in the rows of a group's partition. */
  readonly values: (group: string, partition: number) => Promise<ReadonlyMap<string, string>>;
  /** The entries of the access keys, in order. */
  readonly keys: () => Promise<readonly StoredRow[]>;
  /** The heads of all chains. */
  readonly heads: () => Promise<readonly ChainHead[]>;
  /** @throws LogUnavailable when anything was written since */
  readonly requireStill: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Options = {
  /** ms to wait for a moment without writes */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  /** groups whose rows this user must see if they have read anything */
  readonly expected?: readonly string[];
};

/** @throws LogUnavailable when there is no moment without writes; LogMismatch when the topics hold no log */
export async function openStillLog(connecting: KafkaConnectionOptions, options: Options): Promise<StillLog> {
  const connection = connectTo(connecting);
  const query = openTopicReader(connection.kafka);
  const offsets = openGroupOffsets(connection.kafka);
  const store = { connection, query, offsets };
  const close = async () => void (await Promise.all([query.close(), offsets.close()]));
  try {
    return await readMoment(store, close, options);
  } catch (error) {
    await close();
    throw error;
  }
}

async function readMoment(store: ReadStore, close: StillLog['close'], options: Options): Promise<StillLog> {
  const { connection } = store;
  const logId = await logIdOf(store);
  const inputs = await groupsOf(store);
  await requireVisible(store, inputs, options.expected ?? []);
  const cut = await momentOf(store, inputs, options);
  const ranges = rangesOf(store, cut);
  const partitions = Math.max(...ranges.map(({ partition }) => partition + 1));
  const recordsIn = (range: PartitionRange) => recordsOf(store, range);
  const values = (group: string, partition: number) =>
    readLastValues(store, connection.rowsTopic(group), partition);
  return {
    ...{ logId, connection, partitions, inputs, ranges, recordsIn, values, close },
    records: async function* () {
      for (const range of ranges)
        for await (const some of recordsIn(range))
          for (const raw of some) yield placed(range, chainedRecord(raw));
    },
    rows: async function* () {
      for (const { group } of inputs)
        for (let partition = 0; partition < partitions; partition += 1)
          for (const [key, row] of await values(group, partition))
            if (isRowKey(key)) yield placedRow(group, key, row);
    },
    groups: () => groupsIn({ inputs, partitions, values }),
    keys: () => readKeyRecords(store),
    heads: () => headsOf({ ranges, recordsIn }),
    requireStill: async () => {
      const now = await momentOf(store, inputs, options);
      if (isDeepStrictEqual(now, cut) && inputs.length === (await groupsOf(store)).length) return;
      throw logError(
        'LogUnavailable',
        `something wrote to the topics of ${connection.metaTopic} meanwhile: stop all services, then try again`,
      );
    },
  };
}

async function logIdOf(store: ReadStore): Promise<string> {
  const { metaTopic } = store.connection;
  const meta = await readMeta(store);
  if (meta.kind === 'named') return meta.logId;
  throw logError('LogMismatch', `the topics of ${metaTopic} hold no complete log`);
}

/** Brokers do not list topics that the user may not describe. @throws LogRefused */
async function requireVisible(
  { connection, offsets }: ReadStore,
  inputs: readonly GroupOfLog[],
  expected: readonly string[],
): Promise<void> {
  const names = topics.map(connection.topicName);
  for (const group of expected.filter((one) => !inputs.some((input) => input.group === one))) {
    const committed = [...(await offsets.committed(connection.groupId(group), names)).values()].flat();
    if (committed.some(({ position }) => position !== null))
      throw logError(
        'LogRefused',
        `${connection.rowsTopic(group)} is missing or hidden, although ${group} has read records: grant the user Describe and Read on it`,
      );
  }
}

async function momentOf(
  { connection }: ReadStore,
  groups: readonly GroupOfLog[],
  { patienceMs, signal }: Options,
): Promise<Cut> {
  const names = [
    ...topics.map(connection.topicName),
    ...groups.map(({ group }) => connection.rowsTopic(group)),
  ];
  const offsets = await openOffsetsOfTopics(connection.kafka, names);
  try {
    const found = await findCut(offsets.ask, { patienceMs, signal });
    if (found.kind === 'busy') throw neverStill(found.busy, patienceMs);
    return found.cut;
  } finally {
    await offsets.close();
  }
}

export const placed = (
  { topic, partition }: PartitionRange,
  { offset, type, subject, body }: ReturnType<typeof chainedRecord>,
): PlacedRecord => ({ topic, partition, offset, type, subject, body });

/** @param key of the group's compacted topic */
export function placedRow(group: string, key: string, row: string) {
  const end = key.indexOf('\u0000');
  return { group, subject: key.slice(0, end), key: key.slice(end + 1), row };
}

/** @throws LogMismatch when the brokers have forgotten what a group reads */
async function groupsIn({
  inputs,
  partitions,
  values,
}: Pick<StillLog, 'inputs' | 'partitions' | 'values'>): Promise<readonly PlacedGroup[]> {
  const groups: PlacedGroup[] = [];
  for (const { group, topic } of inputs)
    for (let partition = 0; partition < partitions; partition += 1) {
      const { position, rowsVersion } = foldChangelog(await values(group, partition));
      if (topic !== null) groups.push({ group, topic, partition, position: position ?? 0, rowsVersion });
      else if (position !== null) throw forgotten(group);
    }
  return groups;
}

/** Brokers forget the offsets of a group that rests for a week. */
const forgotten = (group: string): Error =>
  logError(
    'LogMismatch',
    `the brokers have forgotten which topic ${group} reads: start the services once, stop them, then try again`,
  );

async function headsOf({
  ranges,
  recordsIn,
}: Pick<StillLog, 'ranges' | 'recordsIn'>): Promise<readonly ChainHead[]> {
  const trims = await toldTrims({ ranges, records: recordsIn });
  const heads: ChainHead[] = [];
  for (const range of ranges) {
    const { topic, partition, start, end } = range;
    const trim = trimTo(range, trims);
    let head = trim?.head ?? emptyChain;
    for await (const some of recordsIn(range))
      for (const raw of some) head = linkAfter(head, [chainedRecord(raw)]);
    heads.push({ topic, partition, from: trim?.from ?? start, to: end, head });
  }
  return heads;
}

/** The trim that made the start of a partition. */
export const trimTo = (
  { topic, partition, start }: { readonly topic: Topic; readonly partition: number; readonly start: number },
  trims: readonly ChainHead[],
): ChainHead | undefined =>
  trims.find((one) => one.topic === topic && one.partition === partition && one.to === start);
