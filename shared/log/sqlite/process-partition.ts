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
import { columnsOf, graceMs, type Lease, monotonicMs, type StoredChange } from './protocol.ts';
import { recordOf } from './record-of.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

export type PartitionWork<Settings> = {
  readonly store: Store;
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly lease: Lease;
  readonly deliveryTimeoutMs: number;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
  /** Aborts when the partition is to be given up; what is in hand is committed first. */
  readonly stop: AbortSignal;
};

const chunk = { maxRecords: 100, maxBytes: 4 * 2 ** 20 };
/** ms of folding per transaction */
const budgetMs = 100;

/** Folds one partition until it is to stop or the lease is void. Rejects when the fold throws. */
export async function processPartition<Settings>(work: PartitionWork<Settings>): Promise<void> {
  let delayMs = 50;
  while (!work.stop.aborted) {
    try {
      if ((await runFromLoad(work)) === 'void') return;
      delayMs = 50;
    } catch (error) {
      // No space, or a locked file: the state in memory is void, the log is as it was. A fold's own error is
      // another matter.
      if (!isLogError(error, 'LogUnavailable')) throw error;
      await pause(delayMs, work.stop);
      delayMs = Math.min(2 * delayMs, 2_000);
    }
  }
}

async function runFromLoad<Settings>(work: PartitionWork<Settings>): Promise<'void' | 'again'> {
  const { store, fold, options, lease, stop } = work;
  const { owed = () => undefined, owedIntervalMs = 60_000 } = options;
  const loaded = await store.call('load', { lease });
  if (loaded === null) return 'void';
  const state = openState(lease.partition, parsedRows(loaded.rows));
  const settings = stableJson(options.settings);
  let recorded = loaded.settings;
  let position = loaded.position;
  let owedAt = performance.now();
  owed(viewsOf(state));

  const topic = fold.reads;
  const fetch = (from: number) => store.call('fetch', { topic, partition: lease.partition, from, ...chunk });
  let ahead = fetch(position);
  while (!stop.aborted) {
    if (performance.now() - owedAt >= owedIntervalMs) {
      owedAt = performance.now();
      owed(viewsOf(state));
    }
    const records = await ahead;
    if (records.length === 0) {
      const untilOwed = owedAt + owedIntervalMs - performance.now();
      await nextEnds(
        store,
        () => store.ends(topic)[lease.partition]! > position,
        stop,
        Math.max(1, untilOwed),
      );
      ahead = fetch(position);
      continue;
    }
    const folded = await foldChunk(state, records, {
      group: options.group,
      fold,
      settings: JSON.parse(settings) as Settings,
      budgetMs,
      read: (positions) => readEvents(store, topic, positions),
    });
    // While the disk flushes, the next records come up. Nothing of them is used unless this commit holds.
    ahead = folded.stopped === null ? fetch(folded.next) : Promise.resolve([]);
    ahead.catch(() => undefined);
    if (!(await commit(work, position, folded, recorded === settings ? null : settings))) return 'again';
    tellGaps(work, position, records.slice(0, folded.taken));
    recorded = settings;
    position = folded.next;
    for (const { data } of folded.rejected) work.onRejected({ topic, ...data.at, error: data.error });
    options.emitted?.(folded.emit);
    owed(changedViews(state, folded.changes));
    if (folded.stopped !== null) await untilStopped(work, state, owed, owedIntervalMs);
  }
  return 'void';
}

/** Offsets are dense here: what is left out was appended once and is lost. */
function tellGaps<Settings>(
  { fold, options, lease, onTrimmed }: PartitionWork<Settings>,
  position: number,
  records: readonly { readonly offset: number }[],
): void {
  let from = position;
  for (const { offset } of records) {
    if (offset > from)
      onTrimmed({ group: options.group, topic: fold.reads, partition: lease.partition, from, to: offset });
    from = offset + 1;
  }
}

function commit<Settings>(
  { store, lease, deliveryTimeoutMs }: PartitionWork<Settings>,
  from: number,
  { next, changes, emit, rejected, stopped }: FoldedChunk,
  settings: string | null,
): Promise<boolean> {
  const rows = [...changes].flatMap(([subject, of]) =>
    [...of].map(([key, row]): StoredChange => [subject, key, row === undefined ? null : JSON.stringify(row)]),
  );
  const records = [...emit, ...rejected].map((event) => recordOf(event, store.partitions));
  return store.call(
    'commit',
    {
      lease,
      from,
      to: next,
      changes: rows,
      records: columnsOf(records),
      settings,
      stopped,
      deadline: monotonicMs() + deliveryTimeoutMs,
    },
    deliveryTimeoutMs + graceMs,
  );
}

/** The partition stands still, but what it owes is still owed. */
async function untilStopped<Settings>(
  { stop }: PartitionWork<Settings>,
  state: PartitionState,
  owed: NonNullable<ProcessOptions<Settings>['owed']>,
  owedIntervalMs: number,
): Promise<void> {
  while (!stop.aborted) {
    await pause(owedIntervalMs, stop);
    if (!stop.aborted) owed(viewsOf(state));
  }
}

async function readEvents(
  store: Store,
  topic: Fold['reads'],
  positions: readonly Position[],
): Promise<readonly (ClawLoopEvent | undefined)[]> {
  const records = await store.call('read', { topic, positions });
  return records.map((record, index) => readableEvent(topic, positions[index]!, record?.body ?? null));
}

export const parsedRows = (rows: readonly (readonly [string, string, string])[]) =>
  rows.map(([subject, key, row]) => [subject, key, JSON.parse(row) as unknown] as const);
