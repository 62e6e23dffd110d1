import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Kafka } from 'kafkajs';
import { CompressionCodecs, CompressionTypes } from './kafkajs.ts';

/**
 * The internals of kafkajs that the log needs: fetches without a group, from any offset, that also return the
 * end of the partition. kafkajs is no longer developed and is pinned to one version; only this file depends on
 * its internals.
 */

/** As decoded by kafkajs; offsets and ids are 64-bit integers as text. */
export type RawMessage = {
  readonly offset: string;
  /** ms since 1970 */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  readonly isControlRecord: boolean;
  readonly batchContext: {
    readonly producerId: string;
    readonly inTransaction: boolean;
    /** rises with each new leader */
    readonly partitionLeaderEpoch: number;
  };
};

export type AbortedTransaction = { readonly producerId: string; readonly firstOffset: string };

export type RawPartition = {
  readonly partition: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  readonly messages: readonly RawMessage[];
};

type FetchRequest = {
  readonly isolationLevel: 0 | 1;
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
};

type ListOffsetsRequest = {
  readonly replicaId: -1;
  readonly isolationLevel: 0 | 1;
  readonly topics: readonly {
    readonly topic: string;
    /** -1: the end, -2: the start */
    readonly partitions: readonly { readonly partition: number; readonly timestamp: '-1' | '-2' }[];
  }[];
};

type Broker = {
  readonly fetch: (request: FetchRequest) => Promise<{
    readonly responses: readonly { readonly partitions: readonly RawPartition[] }[];
  }>;
  readonly listOffsets: (request: ListOffsetsRequest) => Promise<{
    readonly responses: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
    }[];
  }>;
};

/** The connections of a client. Fetches share one separate socket, and run one after another on it. */
export type Cluster = {
  readonly connect: () => Promise<void>;
  readonly disconnect: () => Promise<void>;
  readonly refreshMetadata: () => Promise<void>;
  readonly addMultipleTargetTopics: (topics: readonly string[]) => Promise<void>;
  readonly findTopicPartitionMetadata: (topic: string) => readonly { readonly partitionId: number }[];
  /** Partitions by the node that leads them. */
  readonly findLeaderForPartitions: (
    topic: string,
    partitions: readonly number[],
  ) => Readonly<Record<string, number[]>>;
  readonly findBroker: (node: { readonly nodeId: string }) => Promise<Broker>;
};

type CreateCluster = (options: {
  readonly metadataMaxAge: number;
  readonly allowAutoTopicCreation: boolean;
}) => Cluster;

/** Connections with the addresses, certificates and credentials of `kafka`. */
export function createCluster(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create = (kafka as unknown as Record<symbol, CreateCluster>)[symbol!]!;
  return create({ metadataMaxAge: 300_000, allowAutoTopicCreation: false });
}

type RequestQueue = { readonly pending: readonly unknown[]; readonly throttledUntil: number };

/** Call once per process: adds zstd, which kafkajs lacks, and fixes a timer that never stops. */
export function prepareKafkaJs(): void {
  const compress = promisify(zstdCompress);
  const decompress = promisify(zstdDecompress);
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: (encoder: { readonly buffer: Buffer }) => compress(encoder.buffer),
    decompress: (buffer: Buffer) => decompress(buffer),
  });

  // An idle connection checks its empty queue every 1 ms: 1% of a core per connection, and a
  // TimeoutNegativeWarning. The timer is only needed while requests are pending.
  const requestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as {
    readonly prototype: { scheduleCheckPendingRequests: (this: RequestQueue) => void };
  };
  const { prototype } = requestQueue;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfNeeded() {
    if (this.pending.length > 0) schedule.call(this);
  };
}
