import { pause, unlessAborted } from '../../lang/async.ts';
import { isLogError } from '../errors.ts';
import type { TrimmedRecords } from '../following.ts';
import {
  type OwnedPartition,
  type PartitionWork,
  processPartition as processOwned,
} from '../process-partition.ts';
import { rowsVersionOf } from '../row-versions.ts';
import { countRefusals } from './broker-refusal.ts';
import { changelogRecords } from './changelog.ts';
import { recordsLost } from './find-loss.ts';
import { errorType } from './kafka-errors.ts';
import { type KafkaStore, readBody } from './kafka-store.ts';
import { type Lane, migrationTimeoutMs, openLane } from './lane.ts';
import { findLossOf, lookForLoss } from './loss-of-group.ts';
import { recordOfEvent } from './messages.ts';
import { type KafkaInput, openPartitionInput } from './partition-input.ts';
import { readFrom, readOn } from './read-so-far.ts';

export type AssignedWork<Settings> = PartitionWork<Settings> & {
  readonly store: KafkaStore;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
  /** Resolves when the coordinator confirms the membership. */
  readonly confirmed: () => Promise<void>;
};

/** ms between checks whether the lost records are back or the loss is repaired */
const lossDelayMs = 2_000;

/**
 * Folds one partition until `stop` aborts. After a broker error the state in memory is invalid: the lane is
 * opened again, and continues from the last commit. Rejects if the fold throws, and with LogRefused if the broker
 * refuses access.
 */
export async function processPartition<Settings>(work: AssignedWork<Settings>): Promise<void> {
  const { stop, options, fold, partition, store } = work;
  const place = `${fold.reads}/${partition}`;
  const refusals = countRefusals(`${options.group} on ${place}`);
  const nothingIsWrong = () => store.troubles.worked(options.group, place);
  const onCommit = () => {
    refusals.worked();
    nothingIsWrong();
  };
  await processOwned(work, {
    takeOver: () => takeOver(work, onCommit, nothingIsWrong),
    recover: async (error, waitMs) => {
      const isLoss = isLogError(error, 'RecordsLost');
      if (!isLoss && !isLogError(error, 'LogUnavailable')) throw error;
      store.troubles.failed(options.group, place, error);
      refusals.failed(error);
      if (isLoss) await untilRepaired(work);
      else await pause(waitMs, stop);
      // A member that lost the partition during the wait must not fence the new owner.
      if (!stop.aborted) await unlessAborted(work.confirmed(), stop, () => {});
    },
    longestWaitMs: 1_000,
  });
  nothingIsWrong();
}

/** The loss ends with a repair, or when a leader that just started shows its last records. */
async function untilRepaired<Settings>({ store, fold, options, partition, stop }: AssignedWork<Settings>) {
  const lane = { group: options.group, topic: fold.reads, partition };
  while (!stop.aborted) {
    await pause(lossDelayMs, stop);
    try {
      if (stop.aborted || (await lookForLoss(store, lane)) === undefined) return;
    } catch (error) {
      if (!isLogError(error, 'LogUnavailable')) throw error;
    }
  }
}

/** @param onIdle called while there is nothing to do */
async function takeOver<Settings>(
  work: AssignedWork<Settings>,
  onCommit: () => void,
  onIdle: () => void,
): Promise<OwnedPartition<KafkaInput>> {
  const { store, fold, options, partition, stop, onTrimmed } = work;
  const at = { group: options.group, topic: fold.reads, partition };
  const { lane, isForMigration } = await openOwn(work);
  const position = lane.position ?? 0;
  let read = lane.changelog.read ?? readFrom(position);
  /** Whether records were taken from the input and not committed yet. */
  let isInHand = false;
  const input = openPartitionInput(store, {
    topic: fold.reads,
    partition,
    from: position,
    onIdle: () => {
      if (!isInHand) onIdle();
    },
    onTrimmed: (from, to) => onTrimmed({ ...at, from, to }),
  });
  const close = async (): Promise<void> => {
    // Do not wait for a pending fetch: its result is not needed.
    void input.close();
    await lane.close();
  };
  try {
    await begin(work, lane);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    rows: lane.changelog.rows,
    position,
    rowsVersion: lane.changelog.rowsVersion,
    settings: lane.changelog.stretches.at(-1)?.settings ?? null,
    next: async (waitMs) => {
      const records = await input.next(waitMs, stop);
      isInHand = records.length > 0;
      return records;
    },
    commit: async ({ records, from, folded, settings, rowsVersion }) => {
      const { next, changes, emit, rejected, stopped } = folded;
      input.taken(folded.taken);
      const now = readOn(read, records);
      const stretch = settings === null ? null : { from, json: settings };
      const rowsTopic = store.connection.rowsTopic(options.group);
      await lane.commit({
        records: [
          ...changelogRecords(rowsTopic, { partition, next, read: now, rowsVersion }, changes, stretch),
          ...[...emit, ...rejected].map((event) => recordOfEvent(store.connection, event, store.partitions)),
        ],
        next,
        stopped,
      });
      read = now;
      isInHand = false;
      onCommit();
      // the next transactions have the usual time again
      return !isForMigration;
    },
    readBodies: (positions) =>
      Promise.all(positions.map((position) => readBody(store, fold.reads, position))),
    close,
  };
}

/**
 * Opens the lane; if its rows are of an earlier version, again with more time: all of them are one transaction. The
 * second opening reads position and rows again, since another process may have owned the lane in between.
 */
async function openOwn<Settings>({
  store,
  fold,
  options,
  partition,
  stop,
}: AssignedWork<Settings>): Promise<{ readonly lane: Lane; readonly isForMigration: boolean }> {
  const at = { group: options.group, topic: fold.reads, partition };
  const lane = await openLane(store, at);
  const { rows, rowsVersion } = lane.changelog;
  if (rowsVersion >= rowsVersionOf(fold) || rows.length === 0 || stop.aborted)
    return { lane, isForMigration: false };
  await lane.close();
  try {
    const patient = await openLane(store, at, migrationTimeoutMs);
    if (patient.changelog.rowsVersion < rowsVersionOf(fold)) return { lane: patient, isForMigration: true };
    await patient.close(); // another process was first
  } catch (error) {
    // the operator's transaction.max.timeout.ms is shorter: few rows fit into the usual time
    if (errorType(error) !== 'INVALID_TRANSACTION_TIMEOUT') throw error;
  }
  return { lane: await openLane(store, at), isForMigration: false };
}

async function begin<Settings>(
  { store, fold, options, partition }: AssignedWork<Settings>,
  lane: Lane,
): Promise<void> {
  const loss = await findLossOf(store, { group: options.group, topic: fold.reads, partition }, lane);
  if (loss !== undefined) throw recordsLost(loss.name, partition, loss.why);
  // Commit an offset now, so that other processes see the group and its position.
  if (!lane.hasOffset) await lane.commit({ records: [], next: lane.position ?? 0, stopped: null });
}
