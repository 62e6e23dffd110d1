import { existsSync } from 'node:fs';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/service/data-folder.ts';
import { UsageError } from './command.ts';

/**
 * Runs `use` on the log of a data folder that exists, and closes it. @throws UsageError where there is none
 */
export async function withLog<Result>(
  folder: string,
  use: (log: EventLog) => Promise<Result>,
): Promise<Result> {
  const data = dataFolder(folder);
  if (!existsSync(data.log)) {
    throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
  }
  const log = await openSqliteLog({ folder: data.log });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
