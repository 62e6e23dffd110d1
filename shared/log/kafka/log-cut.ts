import { type Topic, topics } from '../../events/define-event.ts';
import { logError } from '../errors.ts';
import { connectTo, type KafkaConnectionOptions } from './connection.ts';
import { type Cut, findCut } from './find-cut.ts';
import { endsBefore, type FollowedRows, followRows, type StoredRow } from './follow-rows.ts';
import { groupNames } from './group-names.ts';
import { openGroupOffsets } from './group-offsets.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { readMeta, requireNotReplaced } from './meta.ts';
import { openOffsetsOfTopics } from './offsets-of-topics.ts';
import { openTopicReader } from './topic-reader.ts';

type RowsPlace = { readonly group: string; readonly partition: number };

/** A group with rows. `topic`: what it reads; null: the broker has forgotten its offsets. */
export type GroupOfLog = { readonly group: string; readonly topic: Topic | null };

export type PartitionRange = {
  readonly topic: Topic;
  readonly partition: number;
  readonly start: number;
  readonly end: number;
};

/** One state of the log. */
export type LogCut = {
  readonly groups: readonly GroupOfLog[];
  /** Of every topic, in order. */
  readonly ranges: readonly PartitionRange[];
  /**
   * The committed records of a partition, in order.
   * @throws LogUnavailable, also when a trim removes records that are not read yet
   */
  readonly records: (range: PartitionRange) => AsyncGenerator<readonly RawMessage[]>;
};

type CutOptions = {
  /** ms to wait for a moment without writes */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  /** Receives the rows of each group's partition, in order; the last value of a key counts. */
  readonly onRows: (place: RowsPlace, rows: readonly StoredRow[]) => Promise<void>;
};

/** Reads a log for a copy: it joins no group, owns no transaction and writes nothing. */
export type LogReader = {
  readonly logId: string;
  /** @throws LogUnavailable when there is no moment without writes */
  readonly cut: (options: CutOptions) => Promise<LogCut>;
  readonly close: () => Promise<void>;
};

/** @throws LogUnavailable, LogMismatch when the topics hold no complete log, NewerSchema */
export async function openLogReader(options: KafkaConnectionOptions): Promise<LogReader> {
  const connection = connectTo(options);
  const query = openTopicReader(connection.kafka);
  const offsets = openGroupOffsets(connection.kafka);
  const close = async () => void (await Promise.all([query.close(), offsets.close()]));
  try {
    const meta = await readMeta({ connection, query });
    if (meta.kind !== 'named')
      throw logError(
        'LogMismatch',
        meta.kind === 'empty'
          ? `the topics of ${connection.metaTopic} hold no log yet: start ClawLoop first`
          : `a restore into the topics of ${connection.metaTopic} has not finished: run clawloop restore again`,
      );
    requireNotReplaced(connection, meta);
    return {
      logId: meta.logId,
      cut: (cutOptions) => cutLog({ connection, query, offsets }, cutOptions),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a reader of the whole log needs. */
export type ReadStore = Pick<KafkaStore, 'connection' | 'query' | 'offsets'>;

async function cutLog(store: ReadStore, { patienceMs, signal, onRows }: CutOptions): Promise<LogCut> {
  const { connection, query } = store;
  const groups = await groupsOf(store);
  const rowsTopics = groups.map(({ group }) => connection.rowsTopic(group));
  const offsets = await openOffsetsOfTopics(connection.kafka, [
    ...topics.map(connection.topicName),
    ...rowsTopics,
  ]);
  try {
    const starts = await offsets.ask('start');
    let behind: readonly Followed[] = groups.flatMap(({ group }) =>
      starts.get(connection.rowsTopic(group))!.map((start, partition) => {
        const topic = connection.rowsTopic(group);
        return { group, partition, topic, rows: followRows(query, { topic, partition }, start) };
      }),
    );
    const all = behind;
    for (;;) {
      for (const { group, partition, rows } of behind)
        for await (const some of rows.toPresent()) {
          signal.throwIfAborted();
          await onRows({ group, partition }, some);
        }
      const found = await findCut(offsets.ask, { patienceMs, signal });
      if (found.kind === 'busy') throw neverStill(found.busy, patienceMs);
      behind = await readTails(all, found.cut, onRows);
      if (behind.length > 0) continue; // compaction was faster: another moment
      const groupsNow = await groupsOf(store);
      if (groupsNow.length !== groups.length)
        throw logError('LogUnavailable', 'a group has folded its first records meanwhile: try again');
      return {
        groups: groupsNow,
        ranges: rangesOf(store, found.cut),
        records: (range) => recordsOf(store, range),
      };
    }
  } finally {
    await offsets.close();
  }
}

type Followed = RowsPlace & { readonly topic: string; readonly rows: FollowedRows };

/** Reads the rows up to the cut. @returns those whose state at the cut is unknown */
async function readTails(
  all: readonly Followed[],
  { ends }: Cut,
  onRows: CutOptions['onRows'],
): Promise<readonly Followed[]> {
  const behind: Followed[] = [];
  for (const followed of all) {
    const { group, partition, topic, rows } = followed;
    const tail = await rows.to(ends.get(topic)![partition]!);
    if (tail === undefined) behind.push(followed);
    else await onRows({ group, partition }, tail);
  }
  return behind;
}

export const neverStill = (busy: readonly string[], patienceMs: number): Error =>
  logError(
    'LogUnavailable',
    `something wrote to the log at every moment for ${patienceMs / 1_000} s, at last to ${busy.join(', ')}: try again later`,
  );

export async function groupsOf(store: ReadStore): Promise<readonly GroupOfLog[]> {
  const { connection, offsets } = store;
  const found: GroupOfLog[] = [];
  for (const group of await groupNames(store)) {
    const committed = await offsets.committed(connection.groupId(group), topics.map(connection.topicName));
    const topic = topics.find((one) =>
      committed.get(connection.topicName(one))?.some(({ position }) => position !== null),
    );
    found.push({ group, topic: topic ?? null });
  }
  return found;
}

export const rangesOf = ({ connection }: ReadStore, { starts, ends }: Cut): readonly PartitionRange[] =>
  topics.flatMap((topic) =>
    ends.get(connection.topicName(topic))!.map((end, partition) => ({
      topic,
      partition,
      start: starts.get(connection.topicName(topic))![partition]!,
      end,
    })),
  );

export async function* recordsOf(
  { connection, query }: ReadStore,
  { topic, partition, start, end }: PartitionRange,
): AsyncGenerator<readonly RawMessage[]> {
  const name = connection.topicName(topic);
  for (let at = start; at < end; ) {
    const fetched = await query
      .fetch(name, new Map([[partition, at]]), { waitMs: 100 })
      .catch((error: unknown) => {
        if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
        throw logError('LogUnavailable', `${name}/${partition} was trimmed meanwhile: try again`, error);
      });
    const [one] = fetched;
    if (one === undefined) continue; // the broker throttles its clients
    if (one.end < end) throw endsBefore(name, partition, one.end, end);
    yield one.records.filter(({ offset }) => Number(offset) < end);
    at = one.next;
  }
}
