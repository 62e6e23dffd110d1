import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import type { ChainedRecord } from '../chain.ts';
import type { GroupLag, SettingsStretch } from '../event-log.ts';
import type { LostRecords } from '../following.ts';
import type { GroupPosition } from '../retention.ts';

/**
 * A record to append. `body` is its JSON, as text or as UTF-8 bytes that fill their buffer: the buffer is
 * transferred to the database's thread, and cannot be used here afterwards.
 */
export type NewRecord = {
  readonly topic: Topic;
  readonly partition: number;
  readonly type: string;
  readonly subject: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
};

/** Records for the other thread: a list per field costs half as much as a list of records. */
export type RecordColumns = {
  readonly [Field in keyof NewRecord]: readonly NewRecord[Field][];
};

export const columnsOf = (records: readonly NewRecord[]): RecordColumns => ({
  topic: records.map(({ topic }) => topic),
  partition: records.map(({ partition }) => partition),
  type: records.map(({ type }) => type),
  subject: records.map(({ subject }) => subject),
  body: records.map(({ body }) => body),
});

/** `time`: ms since 1970, when it was appended. */
export type StoredRecord = {
  readonly offset: number;
  readonly time: number;
  readonly type: string;
  readonly subject: string;
  readonly body: string;
  /** Why the body or the whole row cannot be read; `body` is then empty. */
  readonly damage?: string;
};

/** A record as stored in its row; `link`: the chain's link after it, if it ended an append. */
export type StoredLink = ChainedRecord & { readonly link: string | null };

/** A record without its body. `isLinked`: an append ended with it, so the chain's link after it is stored. */
export type StoredPlace = {
  readonly offset: number;
  /** ms since 1970 */
  readonly time: number;
  readonly bytes: number;
  readonly isLinked: boolean;
};

/** The offsets that a partition's chain covers, `to` excluded, and its last link. */
export type StoredChain = { readonly from: number; readonly to: number; readonly link: string };

/** `body`: null for a long record, which must be read separately. */
export type SkimmedRecord = Omit<StoredRecord, 'body' | 'damage'> & { readonly body: string | null };

/** The records of some types from `from` to `to`; the bodies of others are not read. */
export type Selection = {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly types: readonly string[];
};

/** `next`: the offset after these records, and after those that were left out; below `to` if there is more. */
export type Selected = { readonly records: readonly StoredRecord[]; readonly next: number };

/** The right to commit for one partition of a group. A newer generation invalidates all older ones. */
export type Lease = {
  readonly subscription: number;
  readonly partition: number;
  readonly member: string;
  readonly generation: number;
};

/** `row`: JSON; null removes it. */
export type StoredChange = readonly [subject: string, key: string, row: string | null];

/** `row`: JSON. */
export type StoredRow = readonly [subject: string, key: string, row: string];

export type LoadedPartition = {
  readonly position: number;
  /** version of the rows */
  readonly rowsVersion: number;
  /** JSON of the settings of the last stretch. */
  readonly settings: string | null;
};

/** One partition of a group, with the rows of one commit. */
export type StoredPartition = {
  readonly topic: Topic;
  readonly partition: number;
  readonly position: number;
  readonly rowsVersion: number;
  readonly rows: readonly StoredRow[];
};

export type Commit = {
  readonly lease: Lease;
  readonly from: number;
  readonly to: number;
  readonly changes: readonly StoredChange[];
  readonly records: RecordColumns;
  /** JSON of the settings from `from` on, if they changed; otherwise null. */
  readonly settings: string | null;
  /** Version of all rows after the commit; null: as before. */
  readonly rowsVersion: number | null;
  /** Why the partition stops at `to`. */
  readonly stopped: string | null;
};

/** Deadlines are `monotonicMs`, which all threads of a process share. */
export type Calls = {
  readonly append: { request: { records: RecordColumns; deadline: number }; response: null };
  readonly fetch: {
    request: { topic: Topic; partition: number; from: number; maxRecords: number; maxBytes: number };
    response: readonly StoredRecord[];
  };
  readonly skim: {
    request: { topic: Topic; partition: number; from: number; maxRecords: number };
    response: readonly SkimmedRecord[];
  };
  readonly select: {
    request: Selection;
    response: Selected;
  };
  readonly read: {
    request: { topic: Topic; positions: readonly Position[] };
    response: readonly (StoredRecord | null)[];
  };
  readonly ends: { request: { topic: Topic }; response: readonly number[] };
  readonly chains: { request: { topic: Topic }; response: readonly StoredChain[] };
  readonly fetchStored: {
    request: { topic: Topic; partition: number; from: number; maxRecords: number };
    response: readonly StoredLink[];
  };
  readonly starts: { request: { topic: Topic }; response: readonly number[] };
  readonly readers: { request: { topic: Topic }; response: readonly GroupPosition[] };
  readonly measure: {
    request: { topic: Topic; partition: number; from: number; maxRecords: number };
    response: readonly StoredPlace[];
  };
  readonly cut: { request: { topic: Topic; at: Position; deadline: number }; response: null };
  /** Removes some trimmed rows. The number of them; 0: none are left. */
  readonly remove: {
    request: { topic: Topic; partition: number; deadline: number };
    response: number;
  };
  /** Gives some free pages back. Whether there are more. */
  readonly shrink: { request: { deadline: number }; response: boolean };
  readonly join: { request: { group: string; topic: Topic }; response: { member: string } };
  readonly leave: { request: { member: string }; response: null };
  /** null: the lease is no longer valid. */
  readonly load: { request: { lease: Lease }; response: LoadedPartition | null };
  /** Some rows after this subject and key, ordered by both; []: there are no more. null: as for `load`. */
  readonly rows: {
    request: { lease: Lease; after: readonly [subject: string, key: string] };
    response: readonly StoredRow[] | null;
  };
  /** false: the lease is no longer valid or the position has moved; nothing was written. */
  readonly commit: { request: Commit & { deadline: number }; response: boolean };
  readonly release: { request: { lease: Lease }; response: null };
  readonly lag: { request: { group: string }; response: readonly GroupLag[] };
  readonly stretches: { request: { group: string }; response: readonly SettingsStretch[] };
  readonly committed: { request: { group: string }; response: readonly StoredPartition[] };
  readonly close: { request: null; response: null };
};
export type CallName = keyof Calls;

/** One call. The threads exchange lists of messages, because each exchange has a cost. */
export type ToWorker = {
  [Name in CallName]: { readonly id: number; readonly name: Name; readonly request: Calls[Name]['request'] };
}[CallName];

export type SentError = { readonly name: string; readonly message: string };

export type FromWorker =
  | {
      readonly kind: 'ready';
      readonly logId: string;
      readonly partitions: number;
      readonly lost: readonly LostRecords[];
    }
  | { readonly kind: 'failed'; readonly error: SentError }
  | { readonly kind: 'reply'; readonly id: number; readonly response: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: SentError }
  /** First free offset of each partition of these topics. */
  | { readonly kind: 'ends'; readonly ends: readonly (readonly [topic: Topic, ends: readonly number[]])[] }
  /** The leases of a member from now on; it releases all others. */
  | { readonly kind: 'leases'; readonly member: string; readonly leases: readonly Lease[] };

export type WorkerOptions = {
  readonly file: string;
  readonly folder: string;
  /** undefined: the number the log was created with, or 3. */
  readonly partitions: number | undefined;
  readonly sessionTimeoutMs: number;
  /** A module that exports `onStep`; see open-sqlite-log.ts. */
  readonly stepsModule: string | undefined;
};

/** ms on the monotonic clock; the same in every thread of the process. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

/** ms that the database's thread has to answer after the deadline of a call. */
export const graceMs = 500;
