import type { Producer } from 'kafkajs';
import { topics } from '../../events/define-event.ts';
import type { KafkaStore } from './kafka-store.ts';

/** Of every topic of the facts, and of a group's rows: partitions whose end is not decided. */
async function undecided(
  { query }: KafkaStore,
  topic: string,
  of: (partition: number) => boolean,
): Promise<readonly number[]> {
  const ends = await query.offsets(topic, 'end');
  const from = new Map([...ends.entries()].filter(([partition]) => of(partition)));
  const fetched = await query.fetch(topic, from, { waitMs: 0 });
  return fetched.filter(({ stable, end }) => stable < end).map(({ partition }) => partition);
}

/**
 * Ends what the last owner of a transactional id left open although its coordinator takes it for ended: a
 * broker that was killed in a transaction may come back, abort it, and leave the mark out of some partitions
 * (KIP-664 calls that hanging). Nobody could ever read past it, and the next commit of the id would make it
 * count. An abort of the same id that touches these partitions marks them. Where others have a transaction
 * open it changes nothing.
 */
export async function endDangling(
  store: KafkaStore,
  producer: Producer,
  rows: { readonly topic: string; readonly partition: number },
): Promise<void> {
  const looked = [
    ...topics.map((topic) => ({ topic: store.connection.topicName(topic), of: () => true })),
    { topic: rows.topic, of: (one: number) => one === rows.partition },
  ];
  // all of them are waited for: where the broker is gone, they fail one after the other
  const found = await Promise.all(
    looked.map(async ({ topic, of }) => ({ topic, partitions: await undecided(store, topic, of) })),
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
