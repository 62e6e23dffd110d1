import { pause } from '../../lang/async.ts';
import { isLogError } from '../errors.ts';
import type { TrimmedRecords } from '../following.ts';
import {
  type FoldedStep,
  type OwnedPartition,
  type PartitionWork,
  processPartition as processOwned,
} from '../process-partition.ts';
import {
  columnsOf,
  graceMs,
  type Lease,
  type LoadedPartition,
  monotonicMs,
  type StoredChange,
  type StoredRecord,
  type StoredRow,
} from './protocol.ts';
import { recordOf } from './record-of.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

export type LeasedWork<Settings> = Omit<PartitionWork<Settings>, 'partition'> & {
  readonly store: Store;
  readonly lease: Lease;
  readonly deliveryTimeoutMs: number;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
};

const chunk = { maxRecords: 100, maxBytes: 4 * 2 ** 20 };

/** Folds one partition until `stop` aborts or the lease is no longer valid. Rejects if the fold throws. */
export const processPartition = <Settings>(work: LeasedWork<Settings>): Promise<void> =>
  processOwned(
    { ...work, partition: work.lease.partition },
    {
      takeOver: async () => {
        const loaded = await work.store.call('load', { lease: work.lease });
        const rows = await loadRows(work);
        return loaded === null || rows === undefined ? undefined : hold(work, loaded, rows);
      },
      // No space, or a locked file: the log did not change.
      recover: async (error, waitMs) => {
        if (!isLogError(error, 'LogUnavailable')) throw error;
        await pause(waitMs, work.stop);
      },
      longestWaitMs: 2_000,
    },
  );

/** All rows, of one commit, because no one else commits while the lease is valid. Undefined: it is not. */
async function loadRows<Settings>({ store, lease }: LeasedWork<Settings>): Promise<ParsedRow[] | undefined> {
  const all: ParsedRow[] = [];
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const rows = await store.call('rows', { lease, after });
    if (rows === null) return undefined;
    const last = rows.at(-1);
    if (last === undefined) return all;
    all.push(...parsedRows(rows));
    after = [last[0], last[1]];
  }
}

function hold<Settings>(
  work: LeasedWork<Settings>,
  loaded: LoadedPartition,
  rows: readonly ParsedRow[],
): OwnedPartition<StoredRecord> {
  const { store, fold, lease, stop } = work;
  const { partition } = lease;
  const topic = fold.reads;
  const fetch = (from: number) => {
    const fetched = store.call('fetch', { topic, partition, from, ...chunk });
    fetched.catch(() => undefined); // thrown where it is awaited
    return fetched;
  };
  let { position } = loaded;
  let ahead = fetch(position);
  return {
    rows,
    position,
    rowsVersion: loaded.rowsVersion,
    settings: loaded.settings,
    next: async (waitMs) => {
      const records = await ahead;
      if (records.length === 0) {
        await nextEnds(store, () => store.ends(topic)[partition]! > position, stop, waitMs);
        ahead = fetch(position);
      }
      return records;
    },
    commit: async (step) => {
      const { next, stopped } = step.folded;
      // Fetch the next records during the flush. They are only used if this commit succeeds.
      ahead = stopped === null ? fetch(next) : Promise.resolve([]);
      if (!(await commit(work, position, step))) return false;
      reportGaps(work, position, step.records);
      position = next;
      return true;
    },
    readBodies: async (positions) =>
      (await store.call('read', { topic, positions })).map((record) => record?.body ?? null),
    close: () => Promise.resolve(),
  };
}

/** Offsets are dense, so every missing offset is a lost record. */
function reportGaps<Settings>(
  { fold, options, lease, onTrimmed }: LeasedWork<Settings>,
  position: number,
  records: readonly StoredRecord[],
): void {
  let from = position;
  for (const { offset } of records) {
    if (offset > from)
      onTrimmed({ group: options.group, topic: fold.reads, partition: lease.partition, from, to: offset });
    from = offset + 1;
  }
}

function commit<Settings>(
  { store, lease, deliveryTimeoutMs }: LeasedWork<Settings>,
  from: number,
  { folded: { next, changes, emit, rejected, stopped }, settings, rowsVersion }: FoldedStep<StoredRecord>,
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
      rowsVersion,
      stopped,
      deadline: monotonicMs() + deliveryTimeoutMs,
    },
    deliveryTimeoutMs + graceMs,
  );
}

type ParsedRow = readonly [subject: string, key: string, row: unknown];

export const parsedRows = (rows: readonly StoredRow[]): ParsedRow[] =>
  rows.map(([subject, key, row]) => [subject, key, JSON.parse(row) as unknown]);
