import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportFigures } from '../../../clients/export/figures/export-figures.ts';
import { CliConfig } from '../../../shared/config/cli.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { trainingStory } from './training-story.ts';

export type WrittenStory = { readonly into: string; readonly remove: () => Promise<void> };

/** Exports the training story from a log. `rounds`: how often three steps follow. */
export async function writeStory(style: string, rounds = 1): Promise<WrittenStory> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-figures-'));
  const settings = CliConfig.parse({ dataFolder: join(folder, 'data') });
  const log = await openLog(settings, dataFolder(settings.dataFolder), {
    partitions: 1,
    sessionTimeoutMs: 2000,
  });
  await log.append(trainingStory('default', rounds));
  await log.close();
  const into = join(folder, 'runs');
  await exportFigures(settings, { style, into });
  return { into, remove: () => rm(folder, { recursive: true, force: true }) };
}
