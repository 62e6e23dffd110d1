import type { Position } from '../events/position.ts';
import { aborted, doubling, pause } from '../lang/async.ts';
import { isLogError } from './errors.ts';
import type { ProcessOptions } from './event-log.ts';
import type { Fold } from './fold.ts';
import {
  changedViews,
  type FoldedChunk,
  foldChunk,
  type InputRecord,
  openState,
  type PartitionState,
  readableEvent,
  viewsOf,
} from './fold-chunk.ts';
import type { RejectedRecord } from './following.ts';
import { migrateRows, rowsOfOtherVersion, rowsVersionOf } from './row-versions.ts';
import { stableJson } from './stable-json.ts';
import type { Troubles } from './troubles.ts';

export type PartitionWork<Settings> = {
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly partition: number;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly troubles: Troubles;
  /** Aborts when the member must give up the partition; the current chunk is committed first. */
  readonly stop: AbortSignal;
};

/** The storage of one partition, as the fold driver needs it. */
export type PartitionStore<Input extends InputRecord> = {
  /** Undefined: the partition belongs to another member. */
  readonly takeOver: () => Promise<OwnedPartition<Input> | undefined>;
  /**
   * Waits after a failure until the partition may be taken over again. Rethrows errors that no retry can fix.
   *
   * @param waitMs how long to back off
   */
  readonly recover: (error: unknown, waitMs: number) => Promise<void>;
  /** ms */
  readonly longestWaitMs: number;
};

/** A partition that was taken over. After an error, it must be taken over again. */
export type OwnedPartition<Input extends InputRecord> = {
  readonly rows: Parameters<typeof openState>[1];
  /** Input position of the rows. */
  readonly position: number;
  /** Version of the rows. */
  readonly rowsVersion: number;
  /** JSON of the settings of the last stretch; null: nothing was folded yet. */
  readonly settings: string | null;
  /** The next records; none if none arrived within `waitMs`, or if `stop` aborted. */
  readonly next: (waitMs: number) => Promise<readonly Input[]>;
  /** All of it or nothing. False: the partition must be taken over again. */
  readonly commit: (step: FoldedStep<Input>) => Promise<boolean>;
  /** The bodies of input records; null where a record does not exist. */
  readonly readBodies: (positions: readonly Position[]) => Promise<readonly (string | null)[]>;
  readonly close: () => Promise<void>;
};

export type FoldedStep<Input extends InputRecord> = {
  /** The records that were folded or skipped. */
  readonly records: readonly Input[];
  /** offset of the first record that was fetched */
  readonly from: number;
  readonly folded: FoldedChunk;
  /** JSON; null: as before */
  readonly settings: string | null;
  /** Version of all rows after the commit; null: as before */
  readonly rowsVersion: number | null;
};

/** ms of folding per transaction */
const budgetMs = 100;
const firstWaitMs = 50;

/**
 * Folds one partition until `stop` aborts, or until the partition belongs to another member. After a failure
 * of the log, it takes the partition over again and continues from the last commit. Rejects when the fold throws.
 */
export async function processPartition<Settings, Input extends InputRecord>(
  work: PartitionWork<Settings>,
  store: PartitionStore<Input>,
): Promise<void> {
  const freshWaits = () => doubling(firstWaitMs, store.longestWaitMs);
  let waits = freshWaits();
  const onCommit = () => {
    waits = freshWaits();
  };
  while (!work.stop.aborted) {
    try {
      const owned = await store.takeOver();
      if (owned === undefined) return;
      await foldOwned(work, owned, onCommit).finally(owned.close);
    } catch (error) {
      if (isLogError(error, 'OtherRows')) await standStill(work, error);
      else await store.recover(error, waits.next().value);
    }
  }
}

/** Only another program can go on: it gets the partition when this one stops. */
async function standStill<Settings>(
  { fold, options, partition, troubles, stop }: PartitionWork<Settings>,
  error: Error,
): Promise<void> {
  const place = `${fold.reads}/${partition}`;
  troubles.refused(options.group, place, error);
  await aborted(stop);
  troubles.worked(options.group, place);
}

/** Returns when `stop` aborts, or when the partition must be taken over again. */
async function foldOwned<Settings, Input extends InputRecord>(
  { fold, options, partition, onRejected, stop }: PartitionWork<Settings>,
  owned: OwnedPartition<Input>,
  onCommit: () => void,
): Promise<void> {
  const { group, owed = () => undefined, owedIntervalMs = 60_000 } = options;
  const topic = fold.reads;
  const state = openState(partition, owned.rows);
  if (stop.aborted || !(await migrate(fold, state, { options, owned }))) return;
  const settings = stableJson(options.settings);
  let recorded = owned.settings;
  const read = async (positions: readonly Position[]) => {
    const bodies = await owned.readBodies(positions);
    return bodies.map((body, index) => readableEvent(topic, positions[index]!, body));
  };
  let owedAt = performance.now();
  owed(viewsOf(state));

  while (!stop.aborted) {
    if (performance.now() - owedAt >= owedIntervalMs) {
      owedAt = performance.now();
      owed(viewsOf(state));
    }
    const records = await owned.next(Math.max(1, owedAt + owedIntervalMs - performance.now()));
    if (records.length === 0) continue;
    const parsed = JSON.parse(settings) as Settings;
    const folded = await foldChunk(state, records, { group, fold, settings: parsed, budgetMs, read });
    const isCommitted = await owned.commit({
      records: records.slice(0, folded.taken),
      from: records[0]!.offset,
      folded,
      settings: recorded === settings ? null : settings,
      rowsVersion: null,
    });
    if (!isCommitted) return;
    onCommit();
    recorded = settings;
    for (const { data } of folded.rejected) onRejected({ topic, ...data.at, error: data.error });
    options.emitted?.(folded.emit);
    owed(changedViews(state, folded.changes));
    // A stopped partition folds no more records, but its obligations stay open.
    while (folded.stopped !== null && !stop.aborted) {
      await pause(owedIntervalMs, stop);
      if (!stop.aborted) owed(viewsOf(state));
    }
  }
}

/**
 * Commits the rows in their present shape before any record is folded. False: the partition must be taken over again.
 * @throws OtherRows when they are newer
 */
async function migrate<Settings, Input extends InputRecord>(
  fold: Fold<Settings>,
  state: PartitionState,
  { options, owned }: Pick<PartitionWork<Settings>, 'options'> & { readonly owned: OwnedPartition<Input> },
): Promise<boolean> {
  const { position, rowsVersion: from } = owned;
  const rowsVersion = rowsVersionOf(fold);
  if (from === rowsVersion) return true;
  if (from > rowsVersion)
    throw rowsOfOtherVersion(
      { group: options.group, topic: fold.reads, partition: state.partition },
      from,
      rowsVersion,
    );
  const changes = migrateRows(fold, state, from);
  const folded = { next: position, taken: 0, changes, emit: [], rejected: [], stopped: null };
  return owned.commit({ records: [], from: position, folded, settings: null, rowsVersion });
}
