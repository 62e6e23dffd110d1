import { type Topic, topics } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { emptyChain, linkAfter } from '../chain.ts';
import { logError } from '../errors.ts';
import { collectPlaces, type GroupPosition, type Retention } from '../retention.ts';
import { readChangelog } from './changelog.ts';
import type { KafkaConnection } from './connection.ts';
import { groupNames } from './group-names.ts';
import { talking } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { chainedRecord } from './messages.ts';

/** Removes the oldest records with DeleteRecords, which moves a partition's start at once. */
export function openRetention(store: KafkaStore): Retention {
  const { connection, query } = store;
  /** Ends early when `onRecord` returns false. */
  const readPartition = async (
    topic: Topic,
    { partition, from }: { readonly partition: number; readonly from: number },
    onRecord: (record: RawMessage) => boolean,
  ): Promise<void> => {
    const name = connection.topicName(topic);
    const end = (await query.offsets(name, 'end'))[partition]!;
    for (let at = from; at < end; ) {
      const [fetched] = await query.fetch(name, new Map([[partition, at]]), { waitMs: 100 });
      for (const record of fetched?.records ?? []) if (!onRecord(record)) return;
      if (fetched === undefined || fetched.next === at) return; // a transaction is open here
      at = fetched.next;
    }
  };
  const startOf = async (topic: Topic, partition: number) =>
    (await query.offsets(connection.topicName(topic), 'start'))[partition]!;

  return {
    outline: async (topic, partition, until = Number.POSITIVE_INFINITY) => {
      const collected = collectPlaces();
      const from = await startOf(topic, partition);
      await readPartition(topic, { partition, from }, ({ offset, timestamp, value }) => {
        const bytes = value?.length ?? 0;
        collected.add({ offset: Number(offset), time: Number(timestamp), bytes, mayEnd: true });
        return collected.time() <= until;
      });
      return collected.outline();
    },
    readers: (topic) => readersOf(store, topic),
    chainAt: async (topic, { partition, offset }, last) => {
      const start = await startOf(topic, partition);
      const known = last !== undefined && last.to === start ? last : undefined;
      let link = known?.head ?? emptyChain;
      await readPartition(topic, { partition, from: start }, (raw) => {
        const record = chainedRecord(raw);
        if (record.offset >= offset) return false;
        link = linkAfter(link, [record]);
        return true;
      });
      return { topic, partition, from: known?.from ?? start, to: offset, head: link };
    },
    cut: async (topic, { partition, offset }) => {
      const behind = (await readersOf(store, topic)).find(
        (one) => one.partition === partition && one.position < offset,
      );
      if (behind !== undefined)
        throw logError(
          'LogMismatch',
          `${topic}/${partition} cannot be trimmed to ${offset}: ${behind.group} has read up to ${behind.position}`,
        );
      await deleteBefore(connection, connection.topicName(topic), { partition, offset });
    },
  };
}

/** Removes the records before an offset. @param name of the topic on the cluster */
export const deleteBefore = (
  { kafka }: KafkaConnection,
  name: string,
  { partition, offset }: Position,
): Promise<void> =>
  talking(`deleting records of ${name}`, async () => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      await admin.fetchTopicOffsets(name); // otherwise kafkajs does not know the leader
      const partitions = [{ partition, offset: String(offset) }];
      await admin.deleteTopicRecords({ topic: name, partitions });
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  });

/** A broker forgets the offset of a group that rests for a week; the group's rows have its position too. */
async function readersOf(store: KafkaStore, topic: Topic): Promise<readonly GroupPosition[]> {
  const { connection, offsets, partitions } = store;
  const name = connection.topicName(topic);
  const found: GroupPosition[] = [];
  for (const group of await groupNames(store)) {
    const committed = await offsets.committed(connection.groupId(group), topics.map(connection.topicName));
    const isCommitted = (of: string) => committed.get(of)?.some(({ position }) => position !== null) ?? false;
    if (!isCommitted(name) && topics.some((other) => isCommitted(connection.topicName(other)))) continue;
    const positions = await Promise.all(
      Array.from({ length: partitions }, async (_, partition) => {
        const position = committed.get(name)?.[partition]?.position ?? null;
        if (position !== null || isCommitted(name)) return position ?? 0;
        return (await readChangelog(store, connection.rowsTopic(group), partition)).position;
      }),
    );
    // a group without any position has read nothing yet
    if (positions.every((position) => position === null)) continue;
    for (const [partition, position] of positions.entries())
      found.push({ group, partition, position: position ?? 0 });
  }
  return found;
}
