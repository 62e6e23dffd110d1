import { bucketPlace, CheckpointsConfig } from '../config/checkpoints.ts';
import type { Bucket } from '../policy/checkpoints/bucket.ts';
import { UsageError } from '../runtime/command-errors.ts';
import { openBucket } from './open-bucket.ts';

export const isBucketUrl = (place: string): boolean => place.startsWith('s3:');

/**
 * The bucket that a command names as `s3://BUCKET/PREFIX`.
 * @throws UsageError when it is not such a URL, or the settings lack the access key
 */
export function bucketAt(url: string, settings: CheckpointsConfig): Bucket {
  const { success, data } = CheckpointsConfig.shape.checkpoints.safeParse(url);
  const place = success ? bucketPlace({ ...settings, checkpoints: data }) : undefined;
  if (place === undefined) throw new UsageError(`${url} must be s3://BUCKET or s3://BUCKET/PREFIX`);
  if (typeof place === 'string') throw new UsageError(place);
  return openBucket(place);
}
