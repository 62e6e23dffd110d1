import type { ConsoleConfig } from '../../../shared/config/console.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import type { KnownKeys } from '../../../shared/runtime/known-keys.ts';
import type { createAudits } from '../audits.ts';
import type { LogReader } from '../follow-log.ts';
import type { Cached } from '../model/cached.ts';
import type { ConsoleModel } from '../model/console-model.ts';
import type { Overview } from './shapes.ts';

/** Everything the routes need from the process: main.ts opens it and passes it to all of them. */
export type ConsoleDeps = {
  readonly config: ConsoleConfig;
  readonly log: EventLog;
  readonly data: DataFolder;
  readonly model: ConsoleModel;
  readonly reader: LogReader;
  readonly keys: KnownKeys;
  readonly audits: ReturnType<typeof createAudits>;
  readonly cached: Cached;
  readonly logAway: () => Overview['logAway'];
  readonly stopping: AbortSignal;
};
