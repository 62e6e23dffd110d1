import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { ChainHead, VerifiedChain } from './chain.ts';
import type { Fold } from './fold.ts';
import type { Retention } from './retention.ts';
import type { Rows } from './rows.ts';

export type Recorded = {
  readonly event: ClawLoopEvent;
  readonly at: Position;
  /** time of the append, ms since 1970 */
  readonly time: number;
};

/** The parts of a record that are known before it is parsed. */
export type Heading = { readonly type: string; readonly subject: string; readonly at: Position };

/**
 * The records that a reader gets; the others are skipped unparsed. A set names types: the log need not even read
 * records of other types. A function is called for each record, in order.
 */
export type Wanted = ReadonlySet<string> | ((heading: Heading) => boolean);

/** A record of a newer version: a reader that cannot read it stops its partition there. */
export type NewerRecord = {
  readonly topic: Topic;
  readonly at: Position;
  readonly type: string;
  readonly version: number;
  /** the version that this program reads */
  readonly known: number;
  readonly reason: string;
};

type FollowSettings = {
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Default: all records. */
  readonly wants?: Wanted | undefined;
  readonly onNewer?: ((newer: NewerRecord) => void) | undefined;
};

/** The committed state of one subject. */
export type SubjectView = {
  readonly subject: string;
  readonly partition: number;
  readonly rows: Rows;
  /** Keys of the rows that the commit changed or removed; absent: any row may have changed. */
  readonly changed?: readonly string[];
};

export type ProcessOptions<Settings> = {
  /** Consumer group: state, position and leases are kept per group. */
  readonly group: string;
  readonly settings: Settings;
  /**
   * Called to enqueue open obligations, because a queue may have lost them: after each commit with the subjects
   * that it changed; when a partition is taken over, with all its subjects; and every `owedIntervalMs`, with all
   * subjects of each partition that this process owns.
   */
  readonly owed?: (subjects: readonly SubjectView[]) => void;
  /** ms; default 60,000 */
  readonly owedIntervalMs?: number;
  /** Called after each commit of this process with its facts. For metrics only: do not act on them. */
  readonly emitted?: (events: readonly ClawLoopEvent[]) => void;
};

export type Following = {
  /** Resolves when everything that the topic had at the start has been delivered. */
  readonly caughtUp: Promise<void>;
  /** Resolves when everything that the topic has now has been delivered: for a lookup that missed. */
  readonly reachEnd: () => Promise<void>;
  /** Per partition, the offset up to which all records were delivered or skipped: where another reader goes on. */
  readonly position: () => readonly number[];
  /** Rejects on NewerSchema or a broken log; resolves after the signal aborts. */
  readonly done: Promise<void>;
};

/** The first offset to read, per partition; default 0. */
export type Offsets = Readonly<Record<number, number>>;

/** How far a group is behind in one partition. `stopped`: why the partition makes no progress. */
export type GroupLag = {
  readonly topic: Topic;
  readonly partition: number;
  readonly position: number;
  readonly end: number;
  readonly stopped?: string;
};

/** The settings under which a group folded a partition, from the input position `from` up to the next stretch. */
export type SettingsStretch = {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly settings: unknown;
};

/** The state of one partition of a group after its last commit. */
export type CommittedPartition = {
  readonly topic: Topic;
  readonly partition: number;
  /** input position up to which records are folded */
  readonly position: number;
  /** version of the rows, see row-versions.ts; they are as stored, not migrated */
  readonly rowsVersion: number;
  /** All subjects that have rows. */
  readonly subjects: readonly SubjectView[];
};

/** A partition of a group that was set back because the log lost records that the group had read. */
export type RepairedPartition = {
  readonly group: string;
  readonly topic: Topic;
  readonly partition: number;
  /** position before the repair */
  readonly from: number;
  /** position after the repair: all records below it that the group read are intact */
  readonly to: number;
  readonly why: string;
};

/**
 * An append-only log of events, partitioned by `subject`.
 *
 * Every implementation guarantees, and test/contract/event-log.ts checks:
 *  - offsets rise strictly per partition (dense on SQLite; on Kafka, transaction markers take some offsets);
 *    records of one subject are read in the order of their appends;
 *  - `process` commits changed rows, emitted events and input position together or not at all;
 *  - one live member at a time owns a group's partition; after a crash another takes it over within
 *    `sessionTimeoutMs`;
 *  - `append` is at least once: an event may be in the log twice, so every fold ignores an id that it has seen;
 *  - an unparsable record goes to dead-letters in the commit that skips it; an unknown type is skipped; a newer
 *    version of a known type stops its partition, and `lag` reports it;
 *  - rows of an earlier version are migrated in one commit before the first record is folded; rows of a newer
 *    version stop their partition unchanged, and `troubles` reports it;
 *  - rebuilding a group from zero with the same code gives the same rows and events, because each stretch of
 *    the input is folded under the settings that were in force.
 */
export type EventLog = {
  /** Stored in the log and in every checkpoint; if the two differ, the service does not start. */
  readonly logId: string;
  /** Resolves once the events are durable. Throws LogUnavailable after `deliveryTimeoutMs`. */
  readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
  /** Folds one topic in a consumer group until the signal aborts. Rejects if the fold throws: end the process. */
  readonly process: <Settings>(
    fold: Fold<Settings>,
    options: ProcessOptions<Settings>,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Reads all partitions of one topic, without a group. Records of one partition arrive in order. Records that
   * `wants` leaves out are skipped unparsed. A newer version of a known type ends the reading with NewerSchema. With
   * `onNewer` it stops only its partition, which then counts as read to its end; `position` stays at the record.
   */
  readonly follow: (
    topic: Topic,
    from: Offsets,
    onRecord: (record: Recorded) => void,
    options: FollowSettings,
  ) => Following;
  /** Reads one record by its position. Throws RecordGone if it does not exist or was trimmed. */
  readonly read: (topic: Topic, at: Position) => Promise<ClawLoopEvent>;
  /** The first free offset of each partition. If offsets are not dense, it exceeds the number of records. */
  readonly ends: (topic: Topic) => Promise<readonly number[]>;
  /** The first kept offset of each partition: above 0 if the first records were trimmed. */
  readonly starts: (topic: Topic) => Promise<readonly number[]>;
  /** Whether every offset between start and end belongs to a record. */
  readonly hasDenseOffsets: boolean;
  readonly lag: (group: string) => Promise<readonly GroupLag[]>;
  /** Why `process` of a group has made no progress in this process for some seconds; empty if it works. */
  readonly troubles: (group: string) => readonly string[];
  /** All stretches of a group, ordered by partition and position. A rebuild applies them. */
  readonly stretches: (group: string) => Promise<readonly SettingsStretch[]>;
  /** Rows and position of a group's partitions, each pair from one commit. Reads only. */
  readonly committed: (group: string) => Promise<readonly CommittedPartition[]>;
  /**
   * Sets a group back in partitions where the log lost records that the group had read; `dryRun`: only reports
   * them. Until the repair, such a partition waits, and `troubles` says why.
   */
  readonly repair: (
    group: string,
    topic: Topic,
    options: { readonly dryRun: boolean },
  ) => Promise<readonly RepairedPartition[]>;
  /**
   * Recomputes the hash chain of each partition of a topic, and compares it with the links in the log and with
   * the earlier heads in `noted`. Reads only.
   * @param trims the chains at the recorded trims; the chain of a trimmed partition goes on from there
   */
  readonly verify: (
    topic: Topic,
    noted?: readonly ChainHead[],
    trims?: readonly ChainHead[],
  ) => Promise<readonly VerifiedChain[]>;
  readonly retention: Retention;
  readonly close: () => Promise<void>;
};
