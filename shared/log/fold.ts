import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { Migration } from './row-versions.ts';
import type { RowChange, Rows } from './rows.ts';

/**
 * A fact that needs the body of an earlier record of the fold's own input topic. State holds only positions;
 * the log reads the record and calls `create`, which is as pure as the fold.
 */
export type DeferredEvent = {
  readonly reads: Position;
  /** The record's id. A different record at that position is never used: it may be another person's text. */
  readonly id: string;
  readonly create: (record: ClawLoopEvent) => ClawLoopEvent;
  /**
   * Creates the replacement if the record was trimmed, damaged or replaced by another record. As pure as
   * `create`. The fold continues.
   */
  readonly gone: () => ClawLoopEvent;
};

/** An event as a log passes it to a fold. */
export type InputEvent = ClawLoopEvent & {
  /**
   * Time of the append, ms since 1970; it corrects a wrong clock of the writer. The log stores it, so a rebuild
   * reads the same value.
   */
  readonly recorded?: number;
};

export type Folded = {
  readonly changes: readonly RowChange[];
  readonly emit: readonly (ClawLoopEvent | DeferredEvent)[];
};

/**
 * A pure function over one topic: no clock, no I/O. Its state is rows, one set of tables per subject (a lane, an
 * adapter). Changed rows, emitted facts and the input position are committed together or not at all. Ids and
 * times come from the event.
 *
 * `Settings` are the rules in force. A changed setting takes effect at an input position, and is committed with
 * it.
 */
export type Fold<Settings = unknown> = {
  readonly name: string;
  readonly reads: Topic;
  readonly writes: Topic;
  readonly on: (rows: Rows, event: InputEvent, at: Position, settings: Settings) => Folded;
  /**
   * Rows that an earlier release wrote get their present shape by these, in order: the first takes rows of version 1
   * to version 2. So the version of a fold's rows is their number plus 1.
   */
  readonly migrations?: readonly Migration[];
};
