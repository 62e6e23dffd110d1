import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../../../shared/log/sqlite/database.ts';

/**
 * Makes this process the only supervisor of a data folder; undefined: another one is. It holds a lock of the
 * file system by way of an empty database, which the system releases however the process ends.
 */
export function claimFolder(path: string): { readonly release: () => void } | undefined {
  const held = new DatabaseSync(path);
  try {
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => held.close() };
  } catch (error) {
    held.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
