import type { Topic } from '../../events/define-event.ts';
import { atMost } from './at-most.ts';
import { type LoadedChangelog, readChangelog } from './changelog.ts';
import { endDangling } from './end-dangling.ts';
import { talking, whenCoordinated } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import { Partitioners } from './kafkajs.ts';
import { asBatch, intoSends, type OutgoingRecord } from './messages.ts';

export type LaneOf = { readonly group: string; readonly topic: Topic; readonly partition: number };

type LaneCommit = {
  /** Rows and events. */
  readonly records: readonly OutgoingRecord[];
  /** Input position after the commit. */
  readonly next: number;
  /** Why the partition stops; null: it does not stop. */
  readonly stopped: string | null;
};

/**
 * One transaction commits the offset and the rows. The later position counts: an offset may have expired, or may
 * not be visible yet. An offset beyond the rows means that rows are lost.
 */
export function whereItStands(
  offset: number | null,
  { position }: Pick<LoadedChangelog, 'position'>,
): Pick<Lane, 'position' | 'hasOffset' | 'lostRows'> {
  const known = [offset, position].filter((candidate) => candidate !== null);
  return {
    position: known.length === 0 ? null : Math.max(...known),
    hasOffset: offset !== null,
    lostRows: offset !== null && (position ?? 0) < offset,
  };
}

/** One input partition of a group. This process owns it until another process opens the same partition. */
export type Lane = {
  /** null: nothing was committed yet. */
  readonly position: number | null;
  /** False: the broker has no offset of the group, so other processes cannot see its position. */
  readonly hasOffset: boolean;
  /** The rows are older than the position. */
  readonly lostRows: boolean;
  readonly changelog: LoadedChangelog;
  /**
   * Commits everything or nothing. After an error, the outcome is unknown until the lane is opened again.
   * @throws LogUnavailable, also if another process owns the lane; RecordTooLarge
   */
  readonly commit: (commit: LaneCommit) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type LaneStore = Pick<KafkaStore, 'connection' | 'query' | 'offsets'>;

/** ms after which the broker aborts an abandoned transaction; until then it hides later records from readers. */
const transactionTimeoutMs = 10_000;
/**
 * The same for the transaction that migrates all rows of a partition. It contains rows only, so it hides nothing from
 * readers of events. A broker allows 15 minutes by default.
 */
export const migrationTimeoutMs = 600_000;
/** characters; the broker's default for offset.metadata.max.bytes is 4,096 */
const maxReason = 1_000;

/**
 * Takes a partition over. The transactional id belongs to the input partition, not to the process: initializing
 * it ends the open transaction of the previous owner, and makes every later commit of that owner fail. Only then
 * does it read the position and the rows, which no other process can change now.
 */
export function openLane(
  store: LaneStore,
  { group, topic, partition }: LaneOf,
  transactionTimeout = transactionTimeoutMs,
): Promise<Lane> {
  const { connection } = store;
  const input = connection.topicName(topic);
  const groupId = connection.groupId(group);
  const producer = connection.kafka.producer({
    transactionalId: connection.transactionalId(group, topic, partition),
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout,
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { initialRetryTime: 5, maxRetryTime: 500, retries: 20 },
  });
  const close = () =>
    atMost(
      1_000,
      producer.disconnect().catch(() => undefined),
    );

  const commit = ({ records, next, stopped }: LaneCommit): Promise<void> =>
    talking(`committing ${groupId} ${input}/${partition}`, async () => {
      const transaction = await producer.transaction();
      // Do not abort after an error: only the next owner of the id can determine the outcome.
      for (const send of intoSends(records)) await transaction.sendBatch(asBatch(send));
      const offset = { partition, offset: String(next), metadata: stopped?.slice(0, maxReason) ?? '' };
      const offsets = { consumerGroupId: groupId, topics: [{ topic: input, partitions: [offset] }] };
      await whenCoordinated(() => transaction.sendOffsets(offsets));
      await transaction.commit();
    });

  return talking(`taking over ${groupId} ${input}/${partition}`, async () => {
    try {
      await producer.connect();
      // kafkajs initializes the id at the first transaction, not when it connects.
      await whenCoordinated(async () => (await producer.transaction()).abort(), 20_000);
      const rows = connection.rowsTopic(group);
      await whenCoordinated(() => endDangling(store, producer, { topic: rows, partition }));
      const committed = await store.offsets.committed(groupId, [input]);
      const changelog = await readChangelog(store, rows, partition);
      const offset = committed.get(input)?.[partition]?.position ?? null;
      return { ...whereItStands(offset, changelog), changelog, commit, close };
    } catch (error) {
      await close();
      throw error;
    }
  });
}
