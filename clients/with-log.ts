import type { CliConfig } from '../shared/config/cli.ts';
import type { EventLog } from '../shared/log/event-log.ts';
import { UsageError } from '../shared/runtime/command-errors.ts';
import { dataFolder } from '../shared/runtime/data-folder.ts';
import { logExists, openLog } from '../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../shared/runtime/private-folder.ts';

/**
 * Opens the configured log, runs `use` on it, and closes it.
 * @throws UsageError when there is no log, Refusal when the data folder belongs to another user
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
