import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Stands in every store, so that an empty folder where a mount should be is told from a new store. */
const sentinelName = '.store';

/**
 * Why the checkpoints of an adapter cannot be reached, or undefined. A store that has checkpoints and no
 * sentinel was made by an earlier version, and gets one; so does a new one.
 *
 * @param holdsVersions whether the log knows a version that has a checkpoint there
 */
export async function storeProblem(store: string, holdsVersions: boolean): Promise<string | undefined> {
  try {
    if (await exists(join(store, sentinelName))) return undefined;
    const entries = (await exists(store)) ? await readdir(store) : [];
    if (holdsVersions && !entries.some((name) => /^\d/.test(name)))
      return `${store} is ${entries.length === 0 ? 'empty or missing' : 'not the store'}, and the log knows versions that were kept there: bring them back, or make the file ${sentinelName} there if they are lost for good`;
    await mkdir(store, { recursive: true });
    await writeFile(join(store, sentinelName), 'checkpoints of ClawLoop are kept here\n');
    return undefined;
  } catch (error) {
    return `${store} cannot be read: ${(error as Error).message}`;
  }
}

/** Whether the store is there that `storeProblem` saw. */
export const isPresent = (store: string): Promise<boolean> => exists(join(store, sentinelName));

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
