import { type Topic, topics } from '../../events/define-event.ts';
import type { CommittedPartition, GroupLag, SettingsStretch } from '../event-log.ts';
import { openState, viewsOf } from '../fold-chunk.ts';
import { readChangelog, readWholeCommits } from './changelog.ts';
import { recordsLost } from './find-loss.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import { skipTrimmed } from './skip-trimmed.ts';

/**
 * Where a group stands, or will once it has skipped what was trimmed. An input that holds nothing but
 * markers beyond the group's position has its end
 * there: no record is left.
 */
export async function lagOf(store: KafkaStore, group: string): Promise<readonly GroupLag[]> {
  const { connection, query } = store;
  const names = topics.map(connection.topicName);
  const committed = await store.offsets.committed(connection.groupId(group), names);
  const lags = await Promise.all(
    topics.map(async (topic): Promise<GroupLag[]> => {
      const name = connection.topicName(topic);
      const of = committed.get(name) ?? [];
      if (of.every(({ position }) => position === null)) return [];
      const ends = await query.offsets(name, 'end');
      return Promise.all(
        ends.map(async (end, partition): Promise<GroupLag> => {
          const committed = of[partition]?.position ?? 0;
          const stopped = of[partition]?.stopped ?? null;
          if (end < committed) {
            const why = recordsLost(
              name,
              partition,
              `ends at ${end}, and was read up to ${committed}`,
            ).message;
            return { topic, partition, position: committed, end: committed, stopped: why };
          }
          const { position, more } = await lookBeyond(store, name, partition, committed, end);
          return {
            topic,
            partition,
            position,
            end: more ? end : position,
            ...(stopped === null ? {} : { stopped }),
          };
        }),
      );
    }),
  );
  return lags.flat();
}

/** The first offset from `from` on that was not trimmed, and whether there is more from there on. */
async function lookBeyond(
  store: KafkaStore,
  name: string,
  partition: number,
  from: number,
  end: number,
): Promise<{ readonly position: number; readonly more: boolean }> {
  try {
    return { position: from, more: await holdsMore(store, name, partition, from, end) };
  } catch (error) {
    if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
    const position = (await skipTrimmed(store.query, name, new Map([[partition, from]]))).get(partition)!;
    return { position, more: await holdsMore(store, name, partition, position, end) };
  }
}

/** Whether a record, committed or still open, stands at `from` or after it. */
async function holdsMore(
  { query }: KafkaStore,
  name: string,
  partition: number,
  from: number,
  end: number,
): Promise<boolean> {
  for (let at = from; at < end; ) {
    const [fetched] = await query.fetch(name, new Map([[partition, at]]), { waitMs: 0, maxBytes: 1 });
    if (fetched === undefined || fetched.records.length > 0 || fetched.next === at) return true;
    at = fetched.next;
  }
  return false;
}

export async function stretchesOf(store: KafkaStore, group: string): Promise<readonly SettingsStretch[]> {
  const topic = await inputOf(store, group);
  if (topic === undefined) return [];
  const found = await Promise.all(
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
  return found.flat();
}

export async function committedOf(store: KafkaStore, group: string): Promise<readonly CommittedPartition[]> {
  const topic = await inputOf(store, group);
  if (topic === undefined) return [];
  return Promise.all(
    Array.from({ length: store.partitions }, async (_, partition) => {
      const { rows, position } = await readWholeCommits(store, store.connection.rowsTopic(group), partition);
      return { topic, partition, position: position ?? 0, subjects: viewsOf(openState(partition, rows)) };
    }),
  );
}

/** The topic that a group folds; undefined: it has not folded anything yet. */
async function inputOf({ connection, offsets }: KafkaStore, group: string): Promise<Topic | undefined> {
  const committed = await offsets.committed(connection.groupId(group), topics.map(connection.topicName));
  return topics.find((one) =>
    committed.get(connection.topicName(one))?.some(({ position }) => position !== null),
  );
}
