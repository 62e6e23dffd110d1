import type { Topic } from '../../events/define-event.ts';
import { isLogError } from '../errors.ts';
import type { RepairedPartition } from '../event-log.ts';
import { changelogRecords } from './changelog.ts';
import type { KafkaStore } from './kafka-store.ts';
import { type LaneOf, openLane } from './lane.ts';
import { findLossOf, type LossOfGroup, lookForLoss } from './loss-of-group.ts';
import { type ReadSoFar, readFrom } from './read-so-far.ts';

type Of = { readonly group: string; readonly topic: Topic };

/**
 * Sets a group back to the last intact position in each partition whose input or rows lost records. The group
 * then folds some records again, and ignores their ids, which it has seen. Rows that refer to lost records stay:
 * their facts become `record-gone`.
 * @throws LogUnavailable
 */
export async function repairGroup(
  store: KafkaStore,
  { group, topic }: Of,
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly RepairedPartition[]> {
  const found: RepairedPartition[] = [];
  for (let partition = 0; partition < store.partitions; partition += 1) {
    const loss = await lookForLoss(store, { group, topic, partition });
    if (loss === undefined) continue;
    const { position, intact, why, name } = dryRun
      ? loss
      : await setBack(store, { group, topic, partition }, loss);
    found.push({ group, topic, partition, from: position, to: intact, why: `${name}/${partition} ${why}` });
  }
  return found;
}

/** attempts: a running member may take the partition back during the repair */
const attempts = 5;

async function setBack(store: KafkaStore, of: LaneOf, found: LossOfGroup): Promise<LossOfGroup> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await setBackOnce(store, of)) ?? found;
    } catch (error) {
      if (attempt === attempts || !isLogError(error, 'LogUnavailable')) throw error;
    }
  }
}

/** Takes the partition over from a running member, which then takes over the repaired partition. */
async function setBackOnce(store: KafkaStore, of: LaneOf): Promise<LossOfGroup | undefined> {
  const { partition } = of;
  const lane = await openLane(store, of);
  try {
    const loss = await findLossOf(store, of, lane);
    if (loss === undefined) return undefined;
    const { intact: next } = loss;
    const read: ReadSoFar = {
      ...readFrom(next),
      points: (lane.changelog.read?.points ?? []).filter(([offset]) => offset < next),
    };
    const rows = store.connection.rowsTopic(of.group);
    const records = changelogRecords(rows, { partition, next, read, rowsVersion: null }, new Map(), null);
    await lane.commit({ records, next, stopped: null });
    return loss;
  } finally {
    await lane.close();
  }
}
