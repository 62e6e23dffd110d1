import type { Producer } from 'kafkajs';
import { topics } from '../../events/define-event.ts';
import type { KafkaStore } from './kafka-store.ts';

/** The partitions of a topic that end with an open transaction. */
async function undecided(
  { query }: Pick<KafkaStore, 'query'>,
  topic: string,
  of: (partition: number) => boolean,
): Promise<readonly number[]> {
  const ends = await query.offsets(topic, 'end');
  const from = new Map([...ends.entries()].filter(([partition]) => of(partition)));
  const fetched = await query.fetch(topic, from, { waitMs: 0 });
  return fetched.filter(({ stable, end }) => stable < end).map(({ partition }) => partition);
}

/**
 * Ends transactions of a transactional id that its coordinator already takes for ended. A broker that was killed
 * during a transaction may abort it after the restart, but omit the marker in some partitions (KIP-664: a hanging
 * transaction). No reader could pass such a partition, and the next commit of the id would commit the leftover
 * records. Aborting a new transaction of the same id that includes these partitions writes the markers. Open
 * transactions of other ids are not affected.
 */
export async function endDangling(
  store: Pick<KafkaStore, 'query' | 'connection'>,
  producer: Producer,
  rows: { readonly topic: string; readonly partition: number },
): Promise<void> {
  const candidates = [
    ...topics.map((topic) => ({ topic: store.connection.topicName(topic), of: () => true })),
    { topic: rows.topic, of: (partition: number) => partition === rows.partition },
  ];
  const found = await Promise.all(
    candidates.map(async ({ topic, of }) => ({ topic, partitions: await undecided(store, topic, of) })),
  );
  const touched = found.filter(({ partitions }) => partitions.length > 0);
  if (touched.length === 0) return;
  const transaction = await producer.transaction();
  await transaction.sendBatch({
    acks: -1,
    topicMessages: touched.map(({ topic, partitions }) => ({
      topic,
      messages: partitions.map((partition) => ({ key: 'aborted', value: null, partition })),
    })),
  });
  await transaction.abort();
}
