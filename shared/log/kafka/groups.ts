import { type Topic, topics } from '../../events/define-event.ts';
import { defined } from '../../lang/defined.ts';
import type { CommittedPartition, GroupLag, SettingsStretch } from '../event-log.ts';
import { openState, viewsOf } from '../fold-chunk.ts';
import { readChangelog, readWholeCommits } from './changelog.ts';
import { recordsLost } from './find-loss.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import { skipTrimmed } from './skip-trimmed.ts';
import type { TopicReader } from './topic-reader.ts';

/**
 * The position of a group after it has skipped trimmed records. If only transaction markers follow the position,
 * the position is the end: no record is left.
 */
export async function lagOf(store: KafkaStore, group: string): Promise<readonly GroupLag[]> {
  const { connection, query } = store;
  const names = topics.map(connection.topicName);
  const committed = await store.offsets.committed(connection.groupId(group), names);
  const lags = await Promise.all(
    topics.map(async (topic): Promise<GroupLag[]> => {
      const name = connection.topicName(topic);
      const committedHere = committed.get(name) ?? [];
      if (committedHere.every(({ position }) => position === null)) return [];
      const ends = await query.offsets(name, 'end');
      return Promise.all(
        ends.map(async (end, partition): Promise<GroupLag> => {
          const from = committedHere[partition]?.position ?? 0;
          const stopped = committedHere[partition]?.stopped ?? null;
          if (end < from) {
            const why = recordsLost(name, partition, `ends at ${end}, and was read up to ${from}`).message;
            return { topic, partition, position: from, end: from, stopped: why };
          }
          const { position, more } = await lookBeyond(query, { topic: name, partition, from, end });
          return {
            topic,
            partition,
            position,
            end: more ? end : position,
            ...defined({ stopped: stopped === null ? undefined : stopped }),
          };
        }),
      );
    }),
  );
  return lags.flat();
}

/** Offsets `from` up to `end` of a partition. `topic`: its name on the cluster. */
type OffsetRange = {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly end: number;
};

/** The first offset at or after `from` that was not trimmed, and whether any record follows it. */
async function lookBeyond(
  query: TopicReader,
  range: OffsetRange,
): Promise<{ readonly position: number; readonly more: boolean }> {
  const { topic, partition, from } = range;
  try {
    return { position: from, more: await hasMore(query, range) };
  } catch (error) {
    if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
    const position = (await skipTrimmed(query, topic, new Map([[partition, from]]))).get(partition)!;
    return { position, more: await hasMore(query, { ...range, from: position }) };
  }
}

/** Whether the range contains a record, committed or in an open transaction. */
async function hasMore(query: TopicReader, { topic, partition, from, end }: OffsetRange): Promise<boolean> {
  for (let at = from; at < end; ) {
    const [fetched] = await query.fetch(topic, new Map([[partition, at]]), { waitMs: 0, maxBytes: 1 });
    if (fetched === undefined || fetched.records.length > 0 || fetched.next === at) return true;
    at = fetched.next;
  }
  return false;
}

export async function stretchesOf(store: KafkaStore, group: string): Promise<readonly SettingsStretch[]> {
  const topic = await inputOf(store, group);
  if (topic === undefined) return [];
  const perPartition = await Promise.all(
    Array.from({ length: store.partitions }, async (_, partition) => {
      const { stretches } = await readChangelog(store, store.connection.rowsTopic(group), partition);
      return stretches.map(({ from, settings }) => ({
        topic,
        partition,
        from,
        settings: JSON.parse(settings) as unknown,
      }));
    }),
  );
  return perPartition.flat();
}

export async function committedOf(store: KafkaStore, group: string): Promise<readonly CommittedPartition[]> {
  const topic = await inputOf(store, group);
  if (topic === undefined) return [];
  return Promise.all(
    Array.from({ length: store.partitions }, async (_, partition) => {
      const loaded = await readWholeCommits(store, store.connection.rowsTopic(group), partition);
      const { rows, position, rowsVersion } = loaded;
      return {
        topic,
        partition,
        position: position ?? 0,
        rowsVersion,
        subjects: viewsOf(openState(partition, rows)),
      };
    }),
  );
}

/** The topic that a group folds; undefined: the group has not folded anything yet. */
async function inputOf({ connection, offsets }: KafkaStore, group: string): Promise<Topic | undefined> {
  const committed = await offsets.committed(connection.groupId(group), topics.map(connection.topicName));
  return topics.find((topic) =>
    committed.get(connection.topicName(topic))?.some(({ position }) => position !== null),
  );
}
