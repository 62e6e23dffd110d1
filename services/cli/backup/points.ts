import { randomUUID } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { type BackupFolder, numberOfPoint } from './backup-folder.ts';
import { flush } from './copy-file.ts';
import { type Manifest, readManifest } from './manifest.ts';

/** A point whose manifest can be read, or why it cannot. */
export type Point =
  | { readonly id: string; readonly manifest: Manifest }
  | { readonly id: string; readonly damage: string };

/** Ids of the points in a backup folder, oldest first. */
export async function pointIds(folder: BackupFolder): Promise<readonly string[]> {
  const names = await namesIn(folder.points);
  return names
    .filter((name) => numberOfPoint(name) !== undefined)
    .sort((a, b) => numberOfPoint(a)! - numberOfPoint(b)!);
}

/** Oldest first. */
export async function readPoints(folder: BackupFolder): Promise<readonly Point[]> {
  const ids = await pointIds(folder);
  return Promise.all(
    ids.map(async (id) => {
      try {
        return { id, manifest: await readManifest(folder, id) };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { id, damage: error.message };
      }
    }),
  );
}

/** The id of the point that the user names: `latest`, an id, or its number. @throws UsageError */
export async function findPoint(folder: BackupFolder, asked: string): Promise<string> {
  const ids = await pointIds(folder);
  if (ids.length === 0) throw new UsageError(`there is no backup in ${folder.root}`);
  const found =
    asked === 'latest'
      ? ids.at(-1)
      : ids.find((id) => id === asked || (/^\d+$/.test(asked) && numberOfPoint(id) === Number(asked)));
  if (found !== undefined) return found;
  throw new UsageError(`no point ${asked} in ${folder.root}; see clawloop backup list ${folder.root}`);
}

/**
 * Removes the oldest points but `keep`, then the checkpoints that no point names. What is removed loses its name first.
 * @returns ids of the removed points
 */
export async function removeOldPoints(folder: BackupFolder, keep: number): Promise<readonly string[]> {
  const ids = await pointIds(folder);
  const old = ids.slice(0, Math.max(0, ids.length - keep));
  for (const id of old) await remove(folder, folder.point(id));
  await removeUnnamedCheckpoints(folder);
  return old;
}

/** A point that cannot be read may name any of them: then all stay. */
async function removeUnnamedCheckpoints(folder: BackupFolder): Promise<void> {
  const points = await readPoints(folder);
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

const namesIn = (path: string): Promise<readonly string[]> =>
  readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) return [];
    throw error;
  });
