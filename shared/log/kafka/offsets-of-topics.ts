import type { Kafka } from 'kafkajs';
import { logError } from '../errors.ts';
import { talking } from './kafka-errors.ts';
import { type Cluster, createCluster } from './kafkajs-internals.ts';

/** By topic, one per partition. */
export type TopicOffsets = ReadonlyMap<string, readonly number[]>;

/** `end`: the first free offset; `stable`: no transaction is open below it; `start`: the first kept offset. */
export type WhichOffset = 'start' | 'stable' | 'end';

export type OffsetsOfTopics = {
  /** One request per node. @throws LogUnavailable */
  readonly ask: (which: WhichOffset) => Promise<TopicOffsets>;
  readonly close: () => Promise<void>;
};

/** Offsets of many topics at once: faster than `TopicReader.offsets`, so that few records come in meanwhile. */
export function openOffsetsOfTopics(kafka: Kafka, topics: readonly string[]): Promise<OffsetsOfTopics> {
  return talking('listing offsets', async () => {
    const cluster = createCluster(kafka);
    const close = () => cluster.disconnect().catch(() => undefined);
    try {
      await cluster.connect();
      await cluster.addMultipleTargetTopics(topics);
      return { ask: (which) => talking('listing offsets', () => ask(cluster, topics, which)), close };
    } catch (error) {
      await close();
      throw error;
    }
  });
}

async function ask(cluster: Cluster, topics: readonly string[], which: WhichOffset): Promise<TopicOffsets> {
  const byNode = new Map<string, { readonly topic: string; readonly partitions: readonly number[] }[]>();
  const found = new Map<string, (number | undefined)[]>();
  for (const topic of topics) {
    const all = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
    found.set(topic, Array.from({ length: all.length }));
    for (const [node, partitions] of Object.entries(cluster.findLeaderForPartitions(topic, all)))
      byNode.set(node, [...(byNode.get(node) ?? []), { topic, partitions }]);
  }
  const timestamp = which === 'start' ? ('-2' as const) : ('-1' as const);
  await Promise.all(
    [...byNode].map(async ([nodeId, led]) => {
      const broker = await cluster.findBroker({ nodeId });
      const { responses } = await broker.listOffsets({
        replicaId: -1,
        isolationLevel: which === 'stable' ? 1 : 0,
        topics: led.map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.map((partition) => ({ partition, timestamp })),
        })),
      });
      for (const { topic, partitions } of responses)
        for (const { partition, offset } of partitions) found.get(topic)![partition] = Number(offset);
    }),
  );
  return new Map([...found].map(([topic, offsets]) => [topic, complete(topic, offsets)]));
}

function complete(topic: string, offsets: readonly (number | undefined)[]): readonly number[] {
  return offsets.map((offset, partition) => {
    if (offset === undefined) throw logError('LogUnavailable', `${topic}/${partition} has no leader`);
    return offset;
  });
}
