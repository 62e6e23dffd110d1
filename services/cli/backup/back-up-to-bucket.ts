import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from '../../../shared/policy/checkpoints/bucket.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import { backupFolder } from './backup-folder.ts';
import {
  bucketSource,
  claimPrefix,
  isStored,
  removeOldFromBucket,
  storedPieces,
  uploadPoint,
} from './bucket-points.ts';
import { using } from './file-errors.ts';
import { bytesOf, filesOf, type StoredCheckpoint } from './manifest.ts';
import { readPoints } from './point-source.ts';
import { type BackedUp, type BackupOptions, type Taken, takePoint } from './take-backup.ts';

/**
 * Adds a point to a bucket, while services run: as `takeBackup` does, in a folder of the data folder first. So the log
 * is one state of it, however long the upload takes, and checkpoints that the backup has are not copied at all.
 *
 * @throws Refusal, NotNow, LogRefused, LogUnavailable, FileError, StoreUnavailable, the signal's reason
 */
export async function backUpToBucket(
  from: BackedUp,
  bucket: Bucket,
  { keepPoints, ...options }: BackupOptions,
): Promise<Taken> {
  const { data, log } = from;
  const stage = backupFolder(data.backupUpload);
  await using('write', stage.root, () => mkdir(stage.root, { recursive: true, mode: 0o700 }));
  const claim = claimFile(stage.lock);
  if (claim === undefined) throw new NotNow(`another backup of ${data.root} is running; try again later`);
  const clean = () => removeAllBut(stage.root, stage.lock);
  try {
    await clean(); // what a killed backup left
    for (const path of [stage.points, stage.checkpoints, stage.unfinished])
      await using('write', path, () => mkdir(path));
    await claimPrefix(bucket, log.logId);
    const stored = await storedPieces(bucket);
    const earlier = {
      points: await readPoints(bucketSource(bucket)),
      isWhole: async (checkpoint: StoredCheckpoint) => isStored(checkpoint, stored),
    };
    const { manifest, copied } = await takePoint(from, stage, earlier, options);
    const staged = new Map(
      filesOf(manifest, (place) => join(stage.root, place)).map((file) => [file.path, file]),
    );
    const total = bytesOf([...staged.values()]);
    let done = 0;
    const bytes = await uploadPoint(bucket, manifest, stored, {
      at: ({ path }) => staged.get(path)!.stored,
      reading: (what) => ({
        signal: options.signal,
        onBytes: (bytes) => {
          done += bytes;
          options.onProgress({ done, total, what: `upload of ${what}` });
        },
      }),
    });
    const removed = keepPoints === undefined ? [] : await removeOldFromBucket(bucket, keepPoints);
    return { manifest, copied, bytes, removed };
  } finally {
    await clean().catch(() => {}); // the next backup removes it
    claim.release();
  }
}

async function removeAllBut(folder: string, kept: string): Promise<void> {
  for (const name of await readdir(folder))
    if (!join(folder, name).startsWith(kept)) await rm(join(folder, name), { recursive: true });
}
