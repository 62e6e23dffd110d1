import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeOfFolder } from './folder-size.ts';
import type { Leftover } from './leftovers.ts';

/** Undefined: it is gone. The time of its last change, because a rename keeps the time of its content. */
export async function lookAtLeftover(path: string): Promise<Leftover | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const bytes = found.isDirectory() ? await sizeOfFolder(path) : found.size;
  return { path, bytes, since: found.ctimeMs };
}

/** The leftovers of a folder whose names fit; none if there is no folder. */
export async function leftoversIn(
  folder: string,
  fits: (name: string) => boolean,
): Promise<readonly Leftover[]> {
  const names = (await readdir(folder).catch(() => [])).filter(fits);
  const found = await Promise.all(names.map((name) => lookAtLeftover(join(folder, name))));
  return found.filter((one) => one !== undefined);
}
