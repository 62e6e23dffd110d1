import type { Kafka } from 'kafkajs';
import { logError } from '../errors.ts';
import { errorType, talking, whenLed } from './kafka-errors.ts';
import { type Cluster, createCluster, type RawMessage, type RawPartition } from './kafkajs-internals.ts';
import { visibleRecords } from './visible-records.ts';

export type FetchedPartition = {
  readonly partition: number;
  /** Committed records from the requested offset on, in order. */
  readonly records: readonly RawMessage[];
  /** Offset of the next fetch: after these records, markers and aborted records. */
  readonly next: number;
  /** Last stable offset: no transaction is open below it. */
  readonly stable: number;
  /** First free offset; counts records of open transactions. */
  readonly end: number;
  /** No offset up to `next` is missing: compaction has removed nothing here. */
  readonly isDense: boolean;
};

export type TopicReader = {
  /** One fetch, at most one per node, which waits up to `waitMs` for records. */
  readonly fetch: (
    topic: string,
    from: ReadonlyMap<number, number>,
    options: { readonly waitMs: number; readonly maxBytes?: number },
  ) => Promise<readonly FetchedPartition[]>;
  /** Per partition the first free offset (`end`) or the first offset that is still kept (`start`). */
  readonly offsets: (topic: string, which: 'start' | 'end') => Promise<readonly number[]>;
  readonly close: () => Promise<void>;
};

const partitionBytes = 2 * 2 ** 20;

/**
 * Reads committed records from any offset, without a group. Fetches of one reader run one after another. After a
 * failure the reader opens a new connection: kafkajs does not always recover its view of a cluster.
 */
export function openTopicReader(kafka: Kafka): TopicReader {
  const connection = openConnection(kafka);
  return {
    fetch: (topic, from, { waitMs, maxBytes = partitionBytes }) =>
      connection.use(topic, (cluster) => fetchPartitions(cluster, topic, from, { waitMs, maxBytes })),
    offsets: (topic, which) => connection.use(topic, (cluster) => listOffsets(cluster, topic, which)),
    close: connection.close,
  };
}

type Connection = { readonly cluster: Promise<Cluster>; readonly uses: Set<Promise<unknown>> };

/** A connection that is opened on first use, and replaced after a failure. */
function openConnection(kafka: Kafka) {
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
  /** Disconnects when nothing uses the connection: a later kafkajs call would connect again. */
  const retire = async (old: Connection | undefined): Promise<void> => {
    if (old === undefined) return;
    if (connection === old) connection = undefined;
    await Promise.allSettled(old.uses);
    await old.cluster.then((cluster) => cluster.disconnect()).catch(() => undefined);
  };

  async function use<Result>(topic: string, work: (cluster: Cluster) => Promise<Result>): Promise<Result> {
    if (closed) throw logError('LogUnavailable', 'the reader is closed');
    const current = connected();
    const using = talking(`reading ${topic}`, async () => {
      const cluster = await current.cluster;
      const attempt = async () => {
        await cluster.addMultipleTargetTopics([topic]);
        return await work(cluster);
      };
      return await whenLed(attempt, () => cluster.refreshMetadata());
    });
    current.uses.add(using);
    try {
      return await using;
    } catch (error) {
      if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') void retire(current);
      throw error;
    } finally {
      current.uses.delete(using);
    }
  }

  return {
    use,
    close: async (): Promise<void> => {
      closed = true;
      await retire(connection);
    },
  };
}

type FetchLimits = { readonly waitMs: number; readonly maxBytes: number };

async function fetchPartitions(
  cluster: Cluster,
  topic: string,
  from: ReadonlyMap<number, number>,
  limits: FetchLimits,
): Promise<readonly FetchedPartition[]> {
  const fetched = await fetchOnce(cluster, topic, from, limits);
  // A fetch of several partitions may have had no room for some. If a partition that is fetched alone is empty
  // below its stable end, compaction emptied the batch at that offset: step over it.
  return Promise.all(
    fetched.map(async (result) => {
      const at = from.get(result.partition)!;
      if (result.next > at || result.stable <= at) return result;
      if (from.size === 1) return { ...result, next: at + 1, isDense: false };
      const fromHere = new Map([[result.partition, at]]);
      const [alone] = await fetchOnce(cluster, topic, fromHere, { ...limits, waitMs: 0 });
      if (alone === undefined) return result;
      return alone.next === at && alone.stable > at ? { ...alone, next: at + 1, isDense: false } : alone;
    }),
  );
}

async function fetchOnce(
  cluster: Cluster,
  topic: string,
  from: ReadonlyMap<number, number>,
  { waitMs, maxBytes }: FetchLimits,
): Promise<FetchedPartition[]> {
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
}

async function listOffsets(
  cluster: Cluster,
  topic: string,
  which: 'start' | 'end',
): Promise<readonly number[]> {
  const all = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
  const byNode = Object.entries(cluster.findLeaderForPartitions(topic, all));
  const timestamp = which === 'end' ? ('-1' as const) : ('-2' as const);
  const listed = await Promise.all(
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
  const offsets = new Map(listed.flat().map(({ partition, offset }) => [partition, Number(offset)]));
  return all.sort((a, b) => a - b).map((partition) => offsets.get(partition) ?? 0);
}

/** Offsets stay far below 2^53. */
function fetchedPartition(
  { partition, messages, abortedTransactions, highWatermark, lastStableOffset }: RawPartition,
  from: number,
): FetchedPartition {
  // A fetch starts with the whole batch that contains the requested offset.
  const within = messages.filter(({ offset }) => Number(offset) >= from);
  const last = within.at(-1);
  return {
    partition,
    records: visibleRecords(messages, abortedTransactions).filter(({ offset }) => Number(offset) >= from),
    next: last === undefined ? from : Number(last.offset) + 1,
    stable: Number(lastStableOffset),
    end: Number(highWatermark),
    isDense: within.every(({ offset }, index) => Number(offset) === from + index),
  };
}
