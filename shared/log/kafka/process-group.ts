import { type Topic, topics } from '../../events/define-event.ts';
import { unlessAborted } from '../../lang/async.ts';
import { groupOfAnother } from '../errors.ts';
import type { ProcessOptions } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
import { type RunningPartitions, runPartitions } from '../running-partitions.ts';
import { atMost } from './at-most.ts';
import { countRefusals } from './broker-refusal.ts';
import { createTopics, planRowsTopic } from './create-topics.ts';
import type { KafkaStore } from './kafka-store.ts';
import { joinGroup } from './membership.ts';
import { processPartition } from './process-partition.ts';

type Group<Settings> = {
  readonly store: KafkaStore;
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
};

/** Runs one member of a group: folds its assigned partitions until the signal aborts, then leaves the group. */
export async function processGroup<Settings>(group: Group<Settings>, signal: AbortSignal): Promise<void> {
  const { store, fold, options } = group;
  const { connection, partitions, maxRecordBytes, sessionTimeoutMs } = store;
  if (signal.aborted) return;
  const rows = planRowsTopic(connection, options.group, partitions, maxRecordBytes);
  const refusals = countRefusals(options.group);
  const prepare = async (): Promise<void> => {
    try {
      await createTopics(connection, [rows]);
      await ofOneTopic(store, options.group, fold.reads);
      store.troubles.worked(options.group, 'its start');
    } catch (error) {
      store.troubles.failed(options.group, 'its start', error);
      refusals.failed(error);
      throw error;
    }
  };
  await store.untilAnswered(prepare, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (signal.aborted) return;

  let wanted: ReadonlyMap<number, number> = new Map();
  const confirmed = () => membership.confirmed();
  const running: RunningPartitions<number> = runPartitions(
    (partition: number, stop) =>
      processPartition({ ...group, troubles: store.troubles, partition, confirmed, stop }),
    signal,
    () => running.workOn(wanted),
  );
  const membership = joinGroup({
    connection,
    groupId: connection.groupId(options.group),
    topic: connection.topicName(fold.reads),
    sessionTimeoutMs,
    onTrouble: (error) => store.troubles.failed(options.group, 'joining its group', error),
    onAssigned: (assigned) => {
      store.troubles.worked(options.group, 'joining its group');
      wanted = new Map(assigned.map((partition) => [partition, partition]));
      running.workOn(wanted);
    },
  });

  try {
    await unlessAborted(running.failed, signal, () => {});
  } finally {
    wanted = new Map();
    await atMost(5_000, running.stop());
    await atMost(2_000, membership.close());
  }
}

/** @throws LogMismatch if the group has read another topic */
async function ofOneTopic({ connection, offsets }: KafkaStore, group: string, reads: Topic): Promise<void> {
  const others = topics.filter((topic) => topic !== reads);
  const committed = await offsets.committed(connection.groupId(group), others.map(connection.topicName));
  const other = others.find((topic) =>
    committed.get(connection.topicName(topic))?.some(({ position }) => position !== null),
  );
  if (other !== undefined) throw groupOfAnother(group, other, reads);
}
