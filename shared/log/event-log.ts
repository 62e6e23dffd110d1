import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { ChainHead, VerifiedChain } from './chain.ts';
import type { Fold } from './fold.ts';
import type { Rows } from './rows.ts';

export type Recorded = {
  readonly event: ClawLoopEvent;
  readonly at: Position;
  /** ms since 1970, when it was appended */
  readonly time: number;
};

/** What is known of a record before it is parsed. */
export type Heading = { readonly type: string; readonly subject: string; readonly at: Position };

/** One subject's committed state, as handed to `owed`. */
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
   * The cue to enqueue open obligations, which a queue may have lost. Called with the subjects that a commit
   * touched, at once after it; with all of a partition when it is taken over; with all of every held
   * partition once per `owedIntervalMs`.
   */
  readonly owed?: (subjects: readonly SubjectView[]) => void;
  /** ms; 60,000 unless told. */
  readonly owedIntervalMs?: number;
  /** The facts of each commit of this process, once it is made: to be counted, not to be acted on. */
  readonly emitted?: (events: readonly ClawLoopEvent[]) => void;
};

export type Following = {
  /** Resolves when the end of the topic, as it was at the start, has been delivered. */
  readonly caughtUp: Promise<void>;
  /** Resolves when the end as of now has been delivered: for a look-up that missed. */
  readonly reachEnd: () => Promise<void>;
  /** Rejects on NewerSchema or a broken log; resolves after the signal aborts. */
  readonly done: Promise<void>;
};

/** From which offset per partition; a partition that is absent starts at 0. */
export type Offsets = Readonly<Record<number, number>>;

/** How far a group is behind, per partition. `stopped` says why a partition no longer moves. */
export type GroupLag = {
  readonly topic: Topic;
  readonly partition: number;
  readonly position: number;
  readonly end: number;
  readonly stopped?: string;
};

/**
 * From which position of the input on a group's partition was folded under which settings, up to the next
 * stretch.
 */
export type SettingsStretch = {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly settings: unknown;
};

/** One partition of a group as its last commit left it. */
export type CommittedPartition = {
  readonly topic: Topic;
  readonly partition: number;
  /** of the input, up to which it was folded */
  readonly position: number;
  /** Every subject that has rows. */
  readonly subjects: readonly SubjectView[];
};

/** A group's partition that was set back, since the log lost what the group had read. */
export type RepairedPartition = {
  readonly group: string;
  readonly topic: Topic;
  readonly partition: number;
  /** where it stood */
  readonly from: number;
  /** where it goes on: all that it read below is there */
  readonly to: number;
  readonly why: string;
};

/**
 * An append-only log of events, partitioned by `subject`.
 *
 * Guarantees that every implementation keeps, and test/contract/event-log.ts checks:
 *  - offsets rise strictly per partition (dense on SQLite; on Kafka the marks of transactions take some);
 *    records of one subject are read in the order in which they were appended;
 *  - `process` commits changed rows, emitted events and input position together or not at all;
 *  - a group's partition is held by one live member at a time; after a crash it moves within
 *    `sessionTimeoutMs`;
 *  - `append` is at least once: the same event may stand twice, so every fold ignores an id that it has seen;
 *  - an unparsable record goes to dead-letters in the commit that passes it; a type that is not known is
 *    passed over; a newer version of a known type stops its partition, and `lag` says so;
 *  - a rebuild of a group from zero gives the same rows and the same events under unchanged code, with the
 *    settings applied stretch by stretch as they were.
 */
export type EventLog = {
  /** Stands in the log and in every checkpoint; a mismatch stops a start. */
  readonly logId: string;
  /** Resolves once the events are durable. Throws LogUnavailable after `deliveryTimeoutMs`. */
  readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
  /**
   * Folds one topic in a consumer group until the signal aborts. A fold that throws rejects: the process
   * should end.
   */
  readonly process: <Settings>(
    fold: Fold<Settings>,
    options: ProcessOptions<Settings>,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Reads one topic, all partitions, in this process alone. Order holds per partition. Records that `wants`
   * says no to are passed over unparsed, whatever they hold; it is asked of each in its turn.
   */
  readonly follow: (
    topic: Topic,
    from: Offsets,
    onRecord: (record: Recorded) => void,
    signal: AbortSignal,
    wants?: (heading: Heading) => boolean,
  ) => Following;
  /** One record by its position. Throws RecordGone when it does not exist or was trimmed. */
  readonly read: (topic: Topic, at: Position) => Promise<ClawLoopEvent>;
  /**
   * Per partition the first offset that no record has yet. Where offsets are not dense, more than there are
   * records.
   */
  readonly ends: (topic: Topic) => Promise<readonly number[]>;
  /** Per partition the first offset that is kept: above 0 where the first records were trimmed. */
  readonly starts: (topic: Topic) => Promise<readonly number[]>;
  /** Whether every offset between start and end belongs to a record. */
  readonly hasDenseOffsets: boolean;
  readonly lag: (group: string) => Promise<readonly GroupLag[]>;
  /** Why `process` of a group in this process has not got on for some seconds; empty while it does. */
  readonly troubles: (group: string) => readonly string[];
  /** Every stretch of a group, in order of partition and position: what a rebuild applies. */
  readonly stretches: (group: string) => Promise<readonly SettingsStretch[]>;
  /** Rows and position of a group's partitions, each as one commit left both. Only reads. */
  readonly committed: (group: string) => Promise<readonly CommittedPartition[]>;
  /**
   * Sets a group back where the log lost what the group had read; `dryRun`: only looks. Until then such a
   * partition waits, and `troubles` says why.
   */
  readonly repair: (
    group: string,
    topic: Topic,
    options: { readonly dryRun: boolean },
  ) => Promise<readonly RepairedPartition[]>;
  /**
   * Recomputes the hash chain of each partition of a topic, and compares it with the links in the log and with
   * heads that were noted earlier. Only reads.
   */
  readonly verify: (topic: Topic, noted?: readonly ChainHead[]) => Promise<readonly VerifiedChain[]>;
  readonly close: () => Promise<void>;
};
