import { readChangelog } from './changelog.ts';
import { findLoss, type Loss } from './find-loss.ts';
import type { KafkaStore } from './kafka-store.ts';
import { type Lane, type LaneOf, whereItStands } from './lane.ts';

type Standing = Pick<Lane, 'position' | 'lostRows' | 'changelog'>;

/** Records that a group has read and that are lost. `name`: the topic that lost them. */
export type LossOfGroup = Loss & { readonly name: string };

/** Checks the input of a group's partition, and its rows. @throws LogUnavailable */
export async function findLossOf(
  store: KafkaStore,
  { group, topic, partition }: LaneOf,
  { position, lostRows, changelog }: Standing,
): Promise<LossOfGroup | undefined> {
  const name = store.connection.topicName(topic);
  const points = changelog.read?.points ?? [];
  const loss = await findLoss(store.query, { name, partition }, { position: position ?? 0, points });
  if (!lostRows) return loss && { ...loss, name };
  const rowsAt = changelog.position ?? 0;
  if (loss !== undefined) return { ...loss, intact: Math.min(rowsAt, loss.intact), name };
  const why = `holds the rows up to ${rowsAt}, and the group committed ${position}`;
  return { position: position!, intact: rowsAt, why, name: store.connection.rowsTopic(group) };
}

/**
 * Like `findLossOf`, without taking the partition over, so it does not disturb a repair. Undefined also if the
 * group has not started.
 * @throws LogUnavailable
 */
export async function lookForLoss(
  store: KafkaStore,
  { group, topic, partition }: LaneOf,
): Promise<LossOfGroup | undefined> {
  const { connection } = store;
  const name = connection.topicName(topic);
  const committed = await store.offsets.committed(connection.groupId(group), [name]);
  const offset = committed.get(name)?.[partition]?.position ?? null;
  if (offset === null) return undefined;
  const changelog = await readChangelog(store, connection.rowsTopic(group), partition);
  return findLossOf(store, { group, topic, partition }, { ...whereItStands(offset, changelog), changelog });
}
