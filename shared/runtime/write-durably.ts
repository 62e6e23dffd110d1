import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file atomically and durably: a synced neighbour is renamed, then the folder is synced. */
export async function writeDurably(path: string, text: string | Uint8Array, mode = 0o600): Promise<void> {
  const neighbour = `${path}.${process.pid}.part`;
  try {
    await writeSynced(neighbour, text, mode);
    await rename(neighbour, path);
  } catch (error) {
    // on a full disk, each attempt would leave a file
    await rm(neighbour, { force: true }).catch(() => undefined);
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function writeSynced(path: string, text: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
