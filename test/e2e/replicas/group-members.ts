import { connectTo } from '../../../shared/log/kafka/connection.ts';

/** The partitions of a group by process id, as reported by the broker. */
export type Shares = ReadonlyMap<number, readonly number[]>;

/** Reads the assignment from the broker, as `kafka-consumer-groups --describe` does. */
export async function sharesOf(brokers: readonly string[], groups: readonly string[]) {
  const { kafka, groupId } = connectTo({ brokers });
  const { AssignerProtocol } = await import('kafkajs');
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { groups: described } = await admin.describeGroups(groups.map(groupId));
    return new Map(
      groups.map((group): readonly [string, Shares] => {
        const members = described.find((one) => one.groupId === groupId(group))?.members ?? [];
        const shares = members.map(({ clientId, memberAssignment }) => {
          const pid = Number(/\d+$/.exec(clientId)?.[0]);
          const assigned = AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {};
          return [pid, Object.values(assigned).flat()] as const;
        });
        return [group, new Map(shares)];
      }),
    );
  } finally {
    await admin.disconnect();
  }
}

/** Whether these processes together have all partitions, and each has at least one. */
export const areSharedBy = (shares: Shares | undefined, pids: readonly number[], partitions = 3): boolean =>
  shares !== undefined &&
  shares.size === pids.length &&
  pids.every((pid) => (shares.get(pid)?.length ?? 0) > 0) &&
  [...shares.values()].flat().length === partitions;
