import type { EventLog } from '../../shared/log/event-log.ts';
import { dataFolder } from '../../shared/service/data-folder.ts';
import { logExists, openLog } from '../../shared/service/open-log.ts';
import { UsageError } from './command.ts';
import { logSettings } from './config.ts';

/**
 * Runs `use` on the log, and closes it: the one that CLAWLOOP_LOG and its kin name, or the data folder's.
 * @throws UsageError where there is none
 */
export async function withLog<Result>(
  folder: string,
  use: (log: EventLog) => Promise<Result>,
): Promise<Result> {
  const data = dataFolder(folder);
  const config = logSettings();
  if (!logExists(config, data)) {
    throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
  }
  const log = await openLog(config, data);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
