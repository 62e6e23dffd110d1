import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from './numbers.ts';

/** Bytes of all files below a folder; 0 if there is none. */
export async function sizeOfFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0, // it is gone meanwhile
        ),
      ),
  );
  return sum(sizes);
}
