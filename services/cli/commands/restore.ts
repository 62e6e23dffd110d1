import { defined } from '../../../shared/lang/defined.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { placeOfLog } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { INTERRUPTED } from '../../../shared/runtime/stop-on-signals.ts';
import { recordsIn } from '../backup/manifest.ts';
import { withTarget } from '../backup/open-log-place.ts';
import { withPlace } from '../backup/open-place.ts';
import { findPoint } from '../backup/point-source.ts';
import { restorePoint } from '../backup/read-point.ts';
import { runVisibly } from '../backup/run-visibly.ts';
import type { Command } from '../command.ts';
import { readOptions } from '../options.ts';
import { auditRestored } from './audit.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FOLDER|s3://... [--point P] --data-folder NEW',
  about: 'write a point of a backup to a new data folder and audit it; exit code as clawloop audit',
  details: [
    ['FOLDER', 'a folder or s3://BUCKET/PREFIX that clawloop backup wrote'],
    ['--point P', 'an id or a number that clawloop backup list FOLDER shows; default: latest'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(argv, { point: { type: 'string' } });
    const data = dataFolder(settings.dataFolder);
    return withPlace([words, settings, 'restore FOLDER --data-folder NEW'], async ({ source }) => {
      const id = await findPoint(source, values.point ?? 'latest');
      const manifest = await source.manifest(id);
      await refuseForeignFolder(data.root);
      const restored = await runVisibly('Nothing was restored', async (options) => {
        await withTarget({ settings, data }, manifest, (target) =>
          restorePoint(source, manifest, { data, ...defined({ target }) }, options),
        );
        return manifest;
      });
      if (restored === undefined) return INTERRUPTED;
      const where = settings.log === 'kafka' ? `${data.root} and ${placeOfLog(settings, data)}` : data.root;
      console.log(`restored ${id}, ${recordsIn(manifest)} records, to ${where}; auditing the log …\n`);
      for (const { adapter, version } of manifest.missing)
        console.error(`MISSING  the backup has no checkpoint of v${version} of ${adapter}, which was in use`);
      const code = await auditRestored(settings, manifest);
      console.log(
        `\nstart it with: clawloop up --data-folder ${data.root}${settings.log === 'kafka' ? ` --log kafka --kafka-prefix ${settings.kafkaPrefix}` : ''}\nnever run it beside the log it is a copy of`,
      );
      return code;
    });
  },
};
