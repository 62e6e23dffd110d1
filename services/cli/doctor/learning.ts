import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { readAll } from '../../../shared/log/read-topic.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';
import { createCautions } from '../views/cautions.ts';
import type { Finding } from './checks.ts';

/** Warnings about learning, by the log: opposite wishes, a collapsing policy, unlearned wishes. */
export async function learningCautions(settings: CliConfig): Promise<readonly Finding[]> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return [];
  return withLog(settings, async (log) => {
    const { on, cautions } = createCautions();
    await readAll(log, ({ event }) => on(event));
    return cautions().map(
      ({ what, advice }): Finding => ({
        state: 'note',
        what,
        ...defined({ advice }),
      }),
    );
  }).catch((error: Error): readonly Finding[] => [{ state: 'bad', what: error.message }]);
}
