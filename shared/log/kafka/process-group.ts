import { type Topic, topics } from '../../events/define-event.ts';
import { groupOfAnother } from '../errors.ts';
import type { ProcessOptions } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
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

/** One member of a group: works on the partitions that it is assigned, and leaves when told to stop. */
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

  const running = new Map<number, { readonly stop: AbortController; readonly done: Promise<void> }>();
  const failure = Promise.withResolvers<void>();
  let wanted: readonly number[] = [];

  const start = (partition: number) => {
    const stop = new AbortController();
    const confirmed = () => membership.confirmed();
    const done = processPartition({ ...group, partition, confirmed, stop: stop.signal })
      .catch(failure.reject)
      .then(() => {
        running.delete(partition);
        reconcile();
      });
    running.set(partition, { stop, done });
  };
  // One that comes back while its end is still awaited starts again after it.
  const reconcile = () => {
    for (const [partition, { stop }] of running) if (!wanted.includes(partition)) stop.abort();
    if (signal.aborted) return;
    for (const partition of wanted) if (!running.has(partition)) start(partition);
  };
  const membership = joinGroup({
    connection,
    groupId: connection.groupId(options.group),
    topic: connection.topicName(fold.reads),
    sessionTimeoutMs,
    onTrouble: (error) => store.troubles.failed(options.group, 'joining its group', error),
    onAssigned: (assigned) => {
      store.troubles.worked(options.group, 'joining its group');
      wanted = assigned;
      reconcile();
    },
  });

  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    await Promise.race([stopped, failure.promise]);
  } finally {
    wanted = [];
    const stopping = [...running.values()];
    for (const { stop } of stopping) stop.abort();
    await atMost(5_000, Promise.all(stopping.map(({ done }) => done)));
    await atMost(2_000, membership.close());
  }
}

/** @throws LogMismatch where the group has read another topic */
async function ofOneTopic({ connection, offsets }: KafkaStore, group: string, reads: Topic): Promise<void> {
  const others = topics.filter((topic) => topic !== reads);
  const committed = await offsets.committed(connection.groupId(group), others.map(connection.topicName));
  const other = others.find((topic) =>
    committed.get(connection.topicName(topic))?.some(({ position }) => position !== null),
  );
  if (other !== undefined) throw groupOfAnother(group, other, reads);
}
