import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChainHead } from '../../../shared/log/chain.ts';
import type { Reading } from './copy-file.ts';
import type { StoredFile } from './manifest.ts';

/** A log that is backed up. */
export type LogSource = {
  readonly logId: string;
  /**
   * Opens one state of the log, while services write to it.
   * @param staged folder of the unfinished point
   * @throws LogUnavailable, LogRefused
   */
  readonly open: (staged: string, signal: AbortSignal) => Promise<LogState>;
  readonly close: () => Promise<void>;
};

export type LogState = {
  /** bytes that a copy surely needs */
  readonly bytes: number;
  /** sum of what `copyTo` reports to `onBytes` */
  readonly work: number;
  /** Events of `training` that name checkpoints, in the order of each adapter. */
  readonly lineage: Iterable<ClawLoopEvent>;
  /** Writes the state below `staged`, and flushes the files. */
  readonly copyTo: (staged: string, reading: Reading) => Promise<CopiedLog>;
  /** Ends the hold on the state. May be called again. */
  readonly close: () => void;
};

export type CopiedLog = {
  /** paths below the point */
  readonly files: readonly StoredFile[];
  /** one per partition of each topic */
  readonly heads: readonly ChainHead[];
  /** how many it has, if its offsets have gaps */
  readonly records?: number;
};
