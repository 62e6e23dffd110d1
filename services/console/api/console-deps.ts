import type { ConsoleConfig } from '../../../shared/config/console.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import type { KeyList } from '../../../shared/runtime/key-store.ts';
import type { KnownKeys } from '../../../shared/runtime/known-keys.ts';
import type { createAudits } from '../audits.ts';
import { ConsoleError } from '../errors.ts';
import type { LogReader } from '../follow-log.ts';
import type { Cached } from '../model/cached.ts';
import type { ConsoleModel } from '../model/console-model.ts';
import type { ShownTexts } from '../model/texts.ts';
import type { Overview } from './shapes.ts';

/** Everything the routes need from the process: main.ts opens it and passes it to all of them. */
export type ConsoleDeps = {
  readonly config: ConsoleConfig;
  readonly log: EventLog;
  readonly data: DataFolder;
  readonly model: ConsoleModel;
  readonly reader: LogReader;
  readonly keys: KnownKeys;
  /** The keys of `clawloop keys`, to be shown. */
  readonly storedKeys: KeyList;
  readonly audits: ReturnType<typeof createAudits>;
  readonly cached: Cached;
  /** What was said about a turn. */
  readonly texts: ShownTexts;
  readonly logAway: () => Overview['logAway'];
  readonly trimmed: () => Overview['trimmed'];
  readonly stopping: AbortSignal;
};

const unreadable = () => ConsoleError.LOG_UNREADABLE({ retryAfterSeconds: 5 });

/** The texts, or an error for the page if the log does not answer. */
export const readable =
  (texts: ShownTexts, logAway: ConsoleDeps['logAway']): ShownTexts =>
  (row) => {
    const shown = texts(row);
    if (!(shown instanceof Promise)) return shown;
    const read = shown.catch((error: unknown) => {
      throw isLogError(error, 'LogUnavailable') ? unreadable() : error;
    });
    return logAway() === null ? read : Promise.race([Promise.reject(unreadable()), read]);
  };
