import type { Admin, Kafka } from 'kafkajs';
import { talking, whenCoordinated } from './kafka-errors.ts';

type CommittedOffset = {
  /** null: the group has committed nothing here yet. */
  readonly position: number | null;
  /** Why the partition is stopped. Stored as the metadata of the commit, so other processes can read it. */
  readonly stopped: string | null;
};

export type GroupOffsets = {
  /** What a group has committed, per topic and partition. */
  readonly committed: (
    groupId: string,
    topics: readonly string[],
  ) => Promise<ReadonlyMap<string, readonly CommittedOffset[]>>;
  readonly close: () => Promise<void>;
};

/** Opens a new connection after a failure, like topic-reader.ts. */
export function openGroupOffsets(kafka: Kafka): GroupOffsets {
  let connection: Promise<Admin> | undefined;
  const connected = (): Promise<Admin> => {
    connection ??= (async () => {
      const admin = kafka.admin();
      await admin.connect();
      return admin;
    })();
    return connection;
  };
  const forget = async (): Promise<void> => {
    const old = connection;
    connection = undefined;
    await old?.then((admin) => admin.disconnect()).catch(() => undefined);
  };

  return {
    committed: async (groupId, topics) => {
      const mine = connected();
      try {
        return await talking(`offsets of ${groupId}`, async () => {
          const admin = await mine;
          const found = await whenCoordinated(() => admin.fetchOffsets({ groupId, topics: [...topics] }));
          return new Map(
            found.map(({ topic, partitions }) => {
              const byPartition: CommittedOffset[] = [];
              for (const { partition, offset, metadata } of partitions) {
                byPartition[partition] = {
                  position: Number(offset) < 0 ? null : Number(offset),
                  stopped: metadata === null || metadata === '' ? null : metadata,
                };
              }
              return [topic, byPartition] as const;
            }),
          );
        });
      } catch (error) {
        if (connection === mine) await forget();
        throw error;
      }
    },
    close: forget,
  };
}
