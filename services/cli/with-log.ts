import type { EventLog } from '../../shared/log/event-log.ts';
import { dataFolder } from '../../shared/service/data-folder.ts';
import { logExists, openLog } from '../../shared/service/open-log.ts';
import { refuseForeignFolder } from '../../shared/service/private-folder.ts';
import { UsageError } from './command.ts';
import type { CliConfig } from './config.ts';

/**
 * Runs `use` on the log that the settings name, and closes it.
 * @throws UsageError where there is none, Refusal where the data folder is another user's
 */
export async function withLog<Result>(
  settings: CliConfig,
  use: (log: EventLog) => Promise<Result>,
): Promise<Result> {
  const data = dataFolder(settings.dataFolder);
  if (!logExists(settings, data)) {
    throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
  }
  await refuseForeignFolder(data.root);
  const log = await openLog(settings, data, { anyRetention: true });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
