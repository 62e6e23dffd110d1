import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { RowChange, Rows } from './rows.ts';

/**
 * A fact that needs the body of an earlier record of the fold's own input topic. State holds only positions;
 * the log reads the record and calls `create`, which is as pure as the fold.
 */
export type DeferredEvent = {
  readonly reads: Position;
  /** The record's id. Another record at that position is never used: its words belong to somebody else. */
  readonly id: string;
  readonly create: (record: ClawLoopEvent) => ClawLoopEvent;
  /**
   * The fact that takes its place where the record is lost: trimmed, damaged, or replaced by another record.
   * As pure as `create`. The fold goes on.
   */
  readonly gone: () => ClawLoopEvent;
};

/** An event as a log hands it to a fold. */
export type InputEvent = ClawLoopEvent & {
  /**
   * ms since 1970, when its record was appended: what a wrong clock of its writer is held against. The log keeps
   * it, so a rebuild reads the same.
   */
  readonly recorded?: number;
};

export type Folded = {
  readonly changes: readonly RowChange[];
  readonly emit: readonly (ClawLoopEvent | DeferredEvent)[];
};

/**
 * A pure function over one topic: no clock, no I/O. State is rows, one table set per subject (a lane, an
 * adapter). Rows changed, facts emitted and the input position are committed together or not at all. Ids come
 * from the event, time from the event.
 *
 * `Settings` are the rules in force. A changed setting takes effect at a position of the input and is
 * committed with it.
 */
export type Fold<Settings = unknown> = {
  readonly name: string;
  readonly reads: Topic;
  readonly writes: Topic;
  readonly on: (rows: Rows, event: InputEvent, at: Position, settings: Settings) => Folded;
};
