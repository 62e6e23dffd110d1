import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { INTERRUPTED } from '../../../shared/runtime/stop-on-signals.ts';
import { backupFolder } from '../backup/backup-folder.ts';
import { readManifest, recordsIn } from '../backup/manifest.ts';
import { findPoint } from '../backup/points.ts';
import { restorePoint } from '../backup/read-point.ts';
import { requireEmbeddedLog, runVisibly } from '../backup/run-visibly.ts';
import type { Command } from '../command.ts';
import { readOptions } from '../options.ts';
import { audit } from './audit.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FOLDER [--point P] --data-folder NEW',
  about: 'write a point of a backup to a new data folder and audit it; exit code as clawloop audit',
  details: [
    ['FOLDER', 'a folder that clawloop backup wrote'],
    ['--point P', 'an id or a number that clawloop backup list FOLDER shows; default: latest'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(argv, { point: { type: 'string' } });
    requireEmbeddedLog(settings);
    const [word, ...more] = words;
    if (word === undefined || more.length > 0)
      throw new UsageError('give one folder: restore FOLDER --data-folder NEW');
    const folder = backupFolder(word);
    const data = dataFolder(settings.dataFolder);
    const id = await findPoint(folder, values.point ?? 'latest');
    const manifest = await readManifest(folder, id);
    await refuseForeignFolder(data.root);
    const restored = await runVisibly('Nothing was restored', async (options) => {
      await restorePoint(folder, manifest, data, options);
      return manifest;
    });
    if (restored === undefined) return INTERRUPTED;
    console.log(`restored ${id}, ${recordsIn(manifest)} records, to ${data.root}; auditing the log …\n`);
    for (const { adapter, version } of manifest.missing)
      console.error(`MISSING  the backup has no checkpoint of v${version} of ${adapter}, which was in use`);
    const code = await audit.run([
      '--data-folder',
      data.root,
      '--log',
      'sqlite',
      '--heads',
      folder.manifest(id),
    ]);
    console.log(
      `\nstart it with: clawloop up --data-folder ${data.root}\nnever run it beside the log it is a copy of`,
    );
    return code;
  },
};
