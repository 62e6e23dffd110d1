import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';

export type PlacedRecord = {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  readonly type: string;
  readonly subject: string;
  readonly body: string;
};

/** `row`: JSON */
export type PlacedRow = {
  readonly group: string;
  readonly subject: string;
  readonly key: string;
  readonly row: string;
};

/** How far a group has read a partition. */
export type PlacedGroup = {
  readonly group: string;
  readonly topic: Topic;
  readonly partition: number;
  readonly position: number;
  /** version of its rows */
  readonly rowsVersion: number;
};

/** What a log holds, read for an erasure. */
export type LogContents = {
  /** Topics in the order of the loop, each partition in order. @throws LogRefused when a record is damaged */
  readonly records: () => Iterable<PlacedRecord> | AsyncIterable<PlacedRecord>;
  readonly rows: () => Iterable<PlacedRow> | AsyncIterable<PlacedRow>;
  readonly groups: () => readonly PlacedGroup[] | Promise<readonly PlacedGroup[]>;
};

/** A partition whose records were rewritten, and its chain before and after. */
export type RewrittenChain = {
  readonly topic: Topic;
  readonly partition: number;
  /** offset of the first rewritten record */
  readonly first: number;
  /** offset after the last record */
  readonly to: number;
  /** how many were rewritten */
  readonly records: number;
  readonly before: string;
  readonly after: string;
};

export type Rewriting = {
  /** The new body; undefined: it stays. Pure: it may be called again for a record. */
  readonly record: (record: PlacedRecord) => string | undefined;
  /** The new row; null: the row goes; undefined: it stays. Pure. */
  readonly row: (row: PlacedRow) => string | null | undefined;
  /** The event that says so, appended together with the changes. */
  readonly fact: (done: {
    readonly chains: readonly RewrittenChain[];
    readonly rows: number;
  }) => ClawLoopEvent;
};
