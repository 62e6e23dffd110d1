import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file atomically and durably: a synced neighbour is renamed, then the folder is synced. */
export async function writeDurably(path: string, text: string | Uint8Array, mode = 0o600): Promise<void> {
  const neighbour = `${path}.${process.pid}.part`;
  const file = await open(neighbour, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(neighbour, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
