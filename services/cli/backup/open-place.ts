import { bucketAt, isBucketUrl } from '../../../shared/bucket/bucket-at.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import type { Bucket } from '../../../shared/policy/checkpoints/bucket.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { type BackupFolder, backupFolder } from './backup-folder.ts';
import { bucketSource } from './bucket-points.ts';
import { folderSource, type PointSource } from './point-source.ts';

/** Where backups are kept. */
export type BackupPlace =
  | { readonly kind: 'folder'; readonly source: PointSource; readonly folder: BackupFolder }
  | { readonly kind: 'bucket'; readonly source: PointSource; readonly bucket: Bucket };

/** @throws UsageError unless the words are one folder or one `s3://BUCKET/PREFIX` with an access key in the settings */
function openPlace(words: readonly string[], settings: CliConfig, usage: string): BackupPlace {
  const [word, ...more] = words;
  if (word === undefined || word === '')
    throw new UsageError(`give a folder or s3://BUCKET/PREFIX: ${usage}`);
  if (more.length > 0) throw new UsageError(`give one folder, not ${words.length}: ${usage}`);
  if (!isBucketUrl(word)) {
    const folder = backupFolder(word);
    return { kind: 'folder', folder, source: folderSource(folder) };
  }
  const bucket = bucketAt(word, settings);
  return { kind: 'bucket', bucket, source: bucketSource(bucket) };
}

/** Runs `use` with the place that the words name, and closes it. */
export async function withPlace<Result>(
  given: Parameters<typeof openPlace>,
  use: (place: BackupPlace) => Promise<Result>,
): Promise<Result> {
  const place = openPlace(...given);
  try {
    return await use(place);
  } finally {
    await place.source.close();
  }
}
