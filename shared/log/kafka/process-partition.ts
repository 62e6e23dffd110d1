import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Position } from '../../events/position.ts';
import { isLogError } from '../errors.ts';
import type { ProcessOptions } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import {
  changedViews,
  type FoldedChunk,
  foldChunk,
  openState,
  type PartitionState,
  readableEvent,
  viewsOf,
} from '../fold-chunk.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
import { pause } from '../pause.ts';
import { stableJson } from '../stable-json.ts';
import { countRefusals } from './broker-refusal.ts';
import { changelogRecords } from './changelog.ts';
import { recordsLost } from './find-loss.ts';
import { type KafkaStore, readBody } from './kafka-store.ts';
import { type Lane, openLane } from './lane.ts';
import { findLossOf, lookForLoss } from './loss-of-group.ts';
import { recordOfEvent } from './messages.ts';
import { openPartitionInput } from './partition-input.ts';
import { type ReadSoFar, readFrom, readOn } from './read-so-far.ts';

export type PartitionWork<Settings> = {
  readonly store: KafkaStore;
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly partition: number;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
  /** Resolves once the coordinator has said that this member is still one. */
  readonly confirmed: () => Promise<void>;
  /** Aborts when the partition is to be given up; what is in hand is committed first. */
  readonly stop: AbortSignal;
};

/** ms between two looks whether lost records are there again, or the loss is repaired */
const lossDelayMs = 2_000;
/** ms of folding per transaction */
const budgetMs = 100;

/**
 * Folds one partition until it is to stop. Whatever fails on the way to the broker makes the state in memory
 * void: the lane is opened anew and goes on from what was committed. Rejects when the fold throws, and with
 * LogRefused where the broker will not let it.
 */
export async function processPartition<Settings>(work: PartitionWork<Settings>): Promise<void> {
  const { stop, options, fold, partition, store } = work;
  const place = `${fold.reads}/${partition}`;
  const refusals = countRefusals(`${options.group} on ${fold.reads}/${partition}`);
  const nothingIsWrong = () => store.troubles.worked(options.group, place);
  let delayMs = 50;
  while (!stop.aborted) {
    try {
      await runFromTakeOver(
        work,
        () => {
          delayMs = 50;
          refusals.worked();
          nothingIsWrong();
        },
        nothingIsWrong,
      );
    } catch (error) {
      const isLoss = isLogError(error, 'RecordsLost');
      if (!isLoss && !isLogError(error, 'LogUnavailable')) throw error;
      store.troubles.failed(options.group, place, error);
      refusals.failed(error);
      if (isLoss) await untilRepaired(work);
      else await pause(delayMs, stop);
      delayMs = Math.min(2 * delayMs, 1_000);
      // One that was fenced while it slept must not fence the new owner in turn.
      if (!stop.aborted) await Promise.race([work.confirmed(), aborted(stop)]);
    }
  }
  nothingIsWrong();
}

/** A person repairs it; or a leader that came up did not show its last records yet. */
async function untilRepaired<Settings>({ store, fold, options, partition, stop }: PartitionWork<Settings>) {
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

/** @param onIdle while there is nothing to do */
async function runFromTakeOver<Settings>(
  work: PartitionWork<Settings>,
  onCommit: () => void,
  onIdle: () => void,
): Promise<void> {
  const { store, fold, options, partition, stop } = work;
  const { group, owed = () => undefined, owedIntervalMs = 60_000 } = options;
  const topic = fold.reads;
  const lane = await openLane(store, { group, topic, partition });
  const position = lane.position ?? 0;
  let read = lane.changelog.read ?? readFrom(position);
  /** Taken from the input, and not committed. */
  let isInHand = false;
  const input = openPartitionInput(store, {
    ...{ topic, partition, from: position },
    onIdle: () => {
      if (!isInHand) onIdle();
    },
    onTrimmed: (from, to) => work.onTrimmed({ group, topic, partition, from, to }),
  });
  try {
    const loss = await findLossOf(store, { group, topic, partition }, lane);
    if (loss !== undefined) throw recordsLost(loss.name, partition, loss.why);
    // Says from the start that the group exists and where it stands.
    if (!lane.hasOffset) await lane.commit({ records: [], next: position, stopped: null });
    const state = openState(partition, lane.changelog.rows);
    const settings = stableJson(options.settings);
    let recorded = lane.changelog.stretches.at(-1)?.settings ?? null;
    let owedAt = performance.now();
    if (stop.aborted) return;
    owed(viewsOf(state));

    while (!stop.aborted) {
      if (performance.now() - owedAt >= owedIntervalMs) {
        owedAt = performance.now();
        owed(viewsOf(state));
      }
      const untilOwed = Math.max(1, owedAt + owedIntervalMs - performance.now());
      const records = await input.next(untilOwed, stop);
      if (records.length === 0) continue;
      isInHand = true;
      const folded = await foldChunk(state, records, {
        group,
        fold,
        settings: JSON.parse(settings) as Settings,
        budgetMs,
        read: (positions) => readEvents(store, topic, positions),
      });
      input.taken(folded.taken);
      const from = records[0]!.offset;
      const now = readOn(read, records.slice(0, folded.taken));
      await commit(
        work,
        lane,
        { from, read: now, settings: recorded === settings ? null : settings },
        folded,
      );
      read = now;
      isInHand = false;
      onCommit();
      recorded = settings;
      for (const { data } of folded.rejected) work.onRejected({ topic, ...data.at, error: data.error });
      options.emitted?.(folded.emit);
      owed(changedViews(state, folded.changes));
      if (folded.stopped !== null) await untilStopped(stop, state, owed, owedIntervalMs);
    }
  } finally {
    // What it waits for there comes to nothing; nobody waits for that.
    void input.close();
    await lane.close();
  }
}

type Step = {
  /** offset of the first record */
  readonly from: number;
  /** after it */
  readonly read: ReadSoFar;
  /** JSON; null: as before */
  readonly settings: string | null;
};

function commit<Settings>(
  { store, options, partition }: PartitionWork<Settings>,
  lane: Lane,
  { from, read, settings }: Step,
  { next, changes, emit, rejected, stopped }: FoldedChunk,
): Promise<void> {
  const { connection, partitions } = store;
  const stretch = settings === null ? null : { from, json: settings };
  return lane.commit({
    records: [
      ...changelogRecords(connection.rowsTopic(options.group), { partition, next, read }, changes, stretch),
      ...[...emit, ...rejected].map((event) => recordOfEvent(connection, event, partitions)),
    ],
    next,
    stopped,
  });
}

/** The partition stands still, but what it owes is still owed. */
async function untilStopped(
  stop: AbortSignal,
  state: PartitionState,
  owed: NonNullable<ProcessOptions<unknown>['owed']>,
  owedIntervalMs: number,
): Promise<void> {
  while (!stop.aborted) {
    await pause(owedIntervalMs, stop);
    if (!stop.aborted) owed(viewsOf(state));
  }
}

function readEvents(
  store: KafkaStore,
  topic: Fold['reads'],
  positions: readonly Position[],
): Promise<readonly (ClawLoopEvent | undefined)[]> {
  return Promise.all(positions.map(async (at) => readableEvent(topic, at, await readBody(store, topic, at))));
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
