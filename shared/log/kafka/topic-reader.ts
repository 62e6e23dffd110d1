import type { Kafka } from 'kafkajs';
import { logError } from '../errors.ts';
import { errorType, talking, whenLed } from './kafka-errors.ts';
import { type Cluster, createCluster, type RawMessage, type RawPartition } from './kafkajs-internals.ts';
import { visibleRecords } from './visible-records.ts';

export type FetchedPartition = {
  readonly partition: number;
  /** Committed records from the asked offset on, in order. */
  readonly records: readonly RawMessage[];
  /** From where to fetch next: past the records, and past markers and what was aborted. */
  readonly next: number;
  /** Up to here all is decided: below it no transaction is open. */
  readonly stable: number;
  /** First offset that no record has, those of open transactions included. */
  readonly end: number;
};

export type TopicReader = {
  /** One fetch, at most one per node, which waits up to `waitMs` for something to come. */
  readonly fetch: (
    topic: string,
    from: ReadonlyMap<number, number>,
    options: { readonly waitMs: number; readonly maxBytes?: number },
  ) => Promise<readonly FetchedPartition[]>;
  /** First offset that no record has, per partition; `start`: the first offset that is still kept. */
  readonly offsets: (topic: string, which: 'start' | 'end') => Promise<readonly number[]>;
  readonly close: () => Promise<void>;
};

type Connection = { readonly cluster: Promise<Cluster>; readonly uses: Set<Promise<unknown>> };

const partitionBytes = 2 * 2 ** 20;

/**
 * Reads committed records from wherever it is told, without a group. One fetch at a time: fetches of one
 * reader wait for one another. After a failure it connects anew, since kafkajs' view of a cluster that went
 * away does not always mend.
 */
export function openTopicReader(kafka: Kafka): TopicReader {
  let connection: Connection | undefined;
  let closed = false;

  const connected = (): Connection => {
    const connect = async () => {
      const cluster = createCluster(kafka);
      await cluster.connect();
      return cluster;
    };
    connection ??= { cluster: connect(), uses: new Set() };
    return connection;
  };
  /** Once nobody uses it any more: kafkajs connects again for whatever is asked of it after its end. */
  const retire = async (old: Connection | undefined): Promise<void> => {
    if (old === undefined) return;
    if (connection === old) connection = undefined;
    await Promise.allSettled(old.uses);
    await old.cluster.then((cluster) => cluster.disconnect()).catch(() => undefined);
  };

  async function use<Result>(topic: string, work: (cluster: Cluster) => Promise<Result>): Promise<Result> {
    if (closed) throw logError('LogUnavailable', 'the reader is closed');
    const mine = connected();
    const using = talking(`reading ${topic}`, async () => {
      const cluster = await mine.cluster;
      const attempt = async () => {
        await cluster.addMultipleTargetTopics([topic]);
        return await work(cluster);
      };
      return await whenLed(attempt, () => cluster.refreshMetadata());
    });
    mine.uses.add(using);
    try {
      return await using;
    } catch (error) {
      if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') void retire(mine);
      throw error;
    } finally {
      mine.uses.delete(using);
    }
  }

  const fetchOnce = async (
    cluster: Cluster,
    topic: string,
    from: ReadonlyMap<number, number>,
    waitMs: number,
    maxBytes: number,
  ): Promise<FetchedPartition[]> => {
    const byNode = cluster.findLeaderForPartitions(topic, [...from.keys()]);
    const led = Object.values(byNode).reduce((sum, partitions) => sum + partitions.length, 0);
    if (led < from.size) throw logError('LogUnavailable', `${topic} has partitions without a leader`);
    const fetched = await Promise.all(
      Object.entries(byNode).map(async ([nodeId, partitions]) => {
        const broker = await cluster.findBroker({ nodeId });
        const { responses } = await broker.fetch({
          isolationLevel: 1,
          maxWaitTime: waitMs,
          minBytes: 1,
          maxBytes: 4 * maxBytes,
          topics: [
            {
              topic,
              partitions: partitions.map((partition) => ({
                partition,
                fetchOffset: String(from.get(partition)!),
                maxBytes,
              })),
            },
          ],
        });
        return responses.flatMap((response) => response.partitions);
      }),
    );
    return fetched.flat().map((raw) => fetchedPartition(raw, from.get(raw.partition)!));
  };

  return {
    fetch: (topic, from, { waitMs, maxBytes = partitionBytes }) =>
      use(topic, async (cluster) => {
        const fetched = await fetchOnce(cluster, topic, from, waitMs, maxBytes);
        // A fetch of several partitions may have had no room for some. Alone, one that is empty below its
        // stable end stands before a batch that compaction emptied: step over it.
        return Promise.all(
          fetched.map(async (one) => {
            const at = from.get(one.partition)!;
            if (one.next > at || one.stable <= at) return one;
            if (from.size === 1) return { ...one, next: at + 1 };
            const [alone] = await fetchOnce(cluster, topic, new Map([[one.partition, at]]), 0, maxBytes);
            if (alone === undefined) return one;
            return alone.next === at && alone.stable > at ? { ...alone, next: at + 1 } : alone;
          }),
        );
      }),

    offsets: (topic, which) =>
      use(topic, async (cluster) => {
        const all = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
        const byNode = Object.entries(cluster.findLeaderForPartitions(topic, all));
        const timestamp = which === 'end' ? ('-1' as const) : ('-2' as const);
        const found = await Promise.all(
          byNode.map(async ([nodeId, partitions]) => {
            const broker = await cluster.findBroker({ nodeId });
            const { responses } = await broker.listOffsets({
              replicaId: -1,
              isolationLevel: 0,
              topics: [{ topic, partitions: partitions.map((partition) => ({ partition, timestamp })) }],
            });
            return responses.flatMap((response) => response.partitions);
          }),
        );
        const offsets = new Map(found.flat().map(({ partition, offset }) => [partition, Number(offset)]));
        return all.sort((a, b) => a - b).map((partition) => offsets.get(partition) ?? 0);
      }),

    close: async () => {
      closed = true;
      await retire(connection);
    },
  };
}

/** Offsets stay far below 2^53. */
function fetchedPartition(
  { partition, messages, abortedTransactions, highWatermark, lastStableOffset }: RawPartition,
  from: number,
): FetchedPartition {
  // A fetch begins with the whole batch that holds the asked offset.
  const within = messages.filter(({ offset }) => Number(offset) >= from);
  const last = within.at(-1);
  return {
    partition,
    records: visibleRecords(messages, abortedTransactions).filter(({ offset }) => Number(offset) >= from),
    next: last === undefined ? from : Number(last.offset) + 1,
    stable: Number(lastStableOffset),
    end: Number(highWatermark),
  };
}
