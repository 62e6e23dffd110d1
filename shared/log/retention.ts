import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { ChainHead } from './chain.ts';

/** How far a group has read a partition. */
export type GroupPosition = {
  readonly group: string;
  readonly partition: number;
  readonly position: number;
};

/** An offset at which a partition may be cut: the records before it can be removed. */
export type CutPlace = {
  readonly offset: number;
  /** latest append time of the records before it, ms since 1970 */
  readonly time: number;
  /** size of the records before it, as stored */
  readonly bytes: number;
};

/** The kept records of a partition. */
export type Outline = {
  /** In order; at most about a thousand. At least one record follows each. */
  readonly places: readonly CutPlace[];
  /** bytes of all records */
  readonly bytes: number;
};

/** The parts of a log that shared/retention needs to remove its oldest records. */
export type Retention = {
  /**
   * Where a partition may be cut.
   * @param until ms since 1970: a place with later records is of no interest; absent: all are
   */
  readonly outline: (topic: Topic, partition: number, until?: number) => Promise<Outline>;
  /** The positions of all groups that ever read a topic. */
  readonly readers: (topic: Topic) => Promise<readonly GroupPosition[]>;
  /**
   * The chain up to a place of the outline.
   * @param last the chain at the first kept record; absent: the log was not trimmed
   */
  readonly chainAt: (topic: Topic, at: Position, last?: ChainHead) => Promise<ChainHead>;
  /**
   * Removes the records before `at`, which is a place of the outline. Write `log.trimmed` first. When it ends early, the
   * partition has the old or the new start; a repetition finishes it.
   * @throws LogMismatch when a group has not read these records
   */
  readonly cut: (topic: Topic, at: Position) => Promise<void>;
};

type Measured = {
  readonly offset: number;
  readonly time: number;
  readonly bytes: number;
  /** whether a cut may follow the record */
  readonly mayEnd: boolean;
};

const MOST_PLACES = 1_000;

/** Collects the places of a partition, record by record, and thins them out when there are too many. */
export function collectPlaces() {
  let places: CutPlace[] = [];
  let every = 1;
  let records = 0;
  let bytes = 0;
  let time = Number.NEGATIVE_INFINITY;
  let pending: CutPlace | undefined;
  return {
    add: (record: Measured): void => {
      // a place counts once a record follows it
      if (pending !== undefined) places.push(pending);
      pending = undefined;
      if (places.length >= MOST_PLACES) {
        places = places.filter((_, index) => index % 2 === 1);
        every *= 2;
      }
      records += 1;
      bytes += record.bytes;
      time = Math.max(time, record.time);
      const isDue = records >= every * (places.length + 1);
      if (record.mayEnd && isDue) pending = { offset: record.offset + 1, time, bytes };
    },
    /** latest append time so far, ms since 1970 */
    time: (): number => time,
    outline: (): Outline => ({ places, bytes }),
  };
}
