import { dataFolder } from '../../../shared/service/data-folder.ts';
import { logExists } from '../../../shared/service/open-log.ts';
import type { CliConfig } from '../config.ts';
import { readAll } from '../read-topic.ts';
import { createCautions } from '../views/cautions.ts';
import { withLog } from '../with-log.ts';
import type { Finding } from './checks.ts';

/** What of the learning deserves a word, by the log: opposite people, a policy that collapses, wishes unmet. */
export async function whatIsLearned(settings: CliConfig): Promise<readonly Finding[]> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return [];
  return withLog(settings, async (log) => {
    const { on, cautions } = createCautions();
    await readAll(log, ({ event }) => on(event));
    return cautions().map(
      ({ what, advice }): Finding => ({
        state: 'note',
        what,
        ...(advice === undefined ? {} : { advice }),
      }),
    );
  }).catch((error: Error): readonly Finding[] => [{ state: 'bad', what: error.message }]);
}
