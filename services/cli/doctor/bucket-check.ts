import { randomUUID } from 'node:crypto';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { textContent } from '../../../shared/policy/checkpoints/bucket-manifest.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { type Checkpoints, openCheckpoints } from '../../../shared/runtime/open-checkpoints.ts';
import type { Finding } from './checks.ts';

const advice =
  'create the bucket, or allow this access key to read, write, list and delete objects in it; ' +
  'check --checkpoints, --s3-endpoint and --s3-region';

/** Whether the bucket of the checkpoints can be used, with an object of its own; none without a bucket. */
export async function bucketAccess(settings: CliConfig): Promise<readonly Finding[]> {
  let checkpoints: Checkpoints;
  try {
    checkpoints = openCheckpoints(settings, dataFolder(settings.dataFolder));
  } catch (error) {
    return [{ state: 'bad', what: (error as Error).message }];
  }
  if (checkpoints.kind === 'folder') return [];
  const { bucket } = checkpoints;
  try {
    const fault = await tryOut(bucket);
    return fault === undefined
      ? [{ state: 'ok', what: `${bucket.name} takes, lists, gives and removes objects` }]
      : [{ state: 'bad', what: `${bucket.name} ${fault}`, advice: 'use another object storage' }];
  } catch (error) {
    return [{ state: 'bad', what: (error as Error).message, advice }];
  } finally {
    await checkpoints.close();
  }
}

/** What the store does wrong; undefined: nothing. @throws StoreUnavailable */
async function tryOut(
  bucket: Extract<Checkpoints, { kind: 'bucket' }>['bucket'],
): Promise<string | undefined> {
  const key = `doctor/${randomUUID()}`;
  await bucket.put(key, textContent('written by clawloop doctor\n'), { ifAbsent: true });
  try {
    if (await bucket.put(key, textContent('again\n'), { ifAbsent: true }))
      return "ignores If-None-Match, so two trainers could replace each other's checkpoints";
    if ((await bucket.get(key)) === undefined || !(await bucket.has(key)))
      return 'does not give back what it took';
  } finally {
    await bucket.remove(key);
  }
  return (await bucket.has(key)) ? 'does not remove objects' : undefined;
}
