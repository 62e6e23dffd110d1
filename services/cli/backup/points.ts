import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupFolder } from './backup-folder.ts';
import { flush } from './copy-file.ts';
import { namesIn } from './point-ids.ts';
import { folderSource, type Point, readPoints } from './point-source.ts';

/**
 * The points that are older than the latest `keep` readable ones. A damaged point counts for none of them, so that it
 * never costs a good one.
 */
export function surplusPoints(points: readonly Point[], keep: number): readonly string[] {
  const kept = points.filter((point) => 'manifest' in point).slice(-keep);
  const oldest = kept.length < keep ? undefined : kept[0];
  return oldest === undefined ? [] : points.slice(0, points.indexOf(oldest)).map(({ id }) => id);
}

/**
 * Removes surplus points, then the checkpoints that no point names. What is removed loses its name first.
 * @returns ids of the removed points
 */
export async function removeOldPoints(folder: BackupFolder, keep: number): Promise<readonly string[]> {
  const points = await readPoints(folderSource(folder));
  const old = surplusPoints(points, keep);
  for (const id of old) await remove(folder, folder.point(id));
  await removeUnnamedCheckpoints(folder, points.slice(old.length));
  return old;
}

/** A point that cannot be read may name any of them: then all stay. */
async function removeUnnamedCheckpoints(folder: BackupFolder, points: readonly Point[]): Promise<void> {
  if (points.some((point) => 'damage' in point)) return;
  const named = new Set(
    points.flatMap((point) =>
      'manifest' in point ? point.manifest.checkpoints.map(({ place }) => place) : [],
    ),
  );
  for (const adapter of await namesIn(folder.checkpoints))
    for (const name of await namesIn(join(folder.checkpoints, adapter)))
      if (!named.has(join('checkpoints', adapter, name)))
        await remove(folder, join(folder.checkpoints, adapter, name));
}

/** Takes a folder out of its place at once, then deletes it. */
export async function remove(folder: BackupFolder, path: string): Promise<void> {
  const aside = join(folder.unfinished, randomUUID());
  await rename(path, aside);
  await flush(join(path, '..'));
  await rm(aside, { recursive: true, force: true });
}
