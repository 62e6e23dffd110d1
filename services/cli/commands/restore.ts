import type { CliConfig } from '../../../shared/config/cli.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openCheckpoints } from '../../../shared/runtime/open-checkpoints.ts';
import { placeOfLog } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { INTERRUPTED } from '../../../shared/runtime/stop-on-signals.ts';
import { explained } from '../backup/file-errors.ts';
import { recordsIn } from '../backup/manifest.ts';
import { withTarget } from '../backup/open-log-place.ts';
import { withPlace } from '../backup/open-place.ts';
import { findPoint } from '../backup/point-source.ts';
import { restorePoint } from '../backup/read-point.ts';
import { runVisibly } from '../backup/run-visibly.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions } from '../options.ts';
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
    const { values, words, settings } = readOptions(argv, { point: { type: 'string' } }, ANY_WORDS);
    const data = dataFolder(settings.dataFolder);
    return withPlace([words, settings, 'restore FOLDER --data-folder NEW'], async ({ source }) => {
      const id = await findPoint(source, values.point ?? 'latest');
      const manifest = await source.manifest(id);
      await refuseForeignFolder(data.root);
      await refuseUsedBucket(settings, data);
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
      const log = settings.log === 'kafka' ? ` --log kafka --kafka-prefix ${settings.kafkaPrefix}` : '';
      const bucket = settings.checkpoints === undefined ? '' : ` --checkpoints ${settings.checkpoints}`;
      console.log(
        `\nstart it with: npx clawloop up --data-folder ${data.root}${log}${bucket}\nnever run it at the same time as the original log`,
      );
      return code;
    });
  },
};

/**
 * The trainer uploads restored checkpoints to a place that has none. Beside those of the old log it would upload nothing.
 * @throws UsageError when the settings name a bucket with checkpoints; NotNow when it cannot be reached
 */
async function refuseUsedBucket(settings: CliConfig, data: DataFolder): Promise<void> {
  const checkpoints = openCheckpoints(settings, data);
  try {
    if (checkpoints.kind === 'folder' || (await checkpoints.bucket.list('')).length === 0) return;
  } catch (error) {
    throw explained(error, 'Nothing was restored');
  } finally {
    await checkpoints.close();
  }
  throw new UsageError(
    `${checkpoints.bucket.name} holds objects already: give --checkpoints a prefix without any, to which the trainer uploads the restored checkpoints`,
  );
}
