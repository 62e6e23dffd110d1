import { readdir } from 'node:fs/promises';
import { type BackupFolder, numberOfPoint } from './backup-folder.ts';

/** Ids of the points in a backup folder, oldest first. */
export const pointIds = async (folder: BackupFolder): Promise<readonly string[]> =>
  sortedIds(await namesIn(folder.points));

/** The names that are ids of points, oldest first. */
export const sortedIds = (names: readonly string[]): readonly string[] =>
  names
    .filter((name) => numberOfPoint(name) !== undefined)
    .sort((a, b) => numberOfPoint(a)! - numberOfPoint(b)!);

/** None if the folder does not exist. */
export const namesIn = (path: string): Promise<readonly string[]> =>
  readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) return [];
    throw error;
  });
