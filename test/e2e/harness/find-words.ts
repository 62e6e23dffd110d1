import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';

export type FoundWord = { readonly word: string; readonly place: string };

/**
 * Every place below a folder that holds one of the words: in the bytes of a file, also of free pages and write-ahead
 * files, and in the unpacked body of a record. It shares no code with the log. Call it while no service runs.
 */
export async function findWords(folder: string, words: readonly string[]): Promise<readonly FoundWord[]> {
  const found: FoundWord[] = [];
  const search = (content: Buffer | string, place: string): void => {
    for (const word of words) if (content.includes(word)) found.push({ word, place });
  };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    search(entry.name, `the name of ${relative(folder, path)}`);
    search(await readFile(path), relative(folder, path));
  }
  const db = new DatabaseSync(join(folder, 'log', 'log.sqlite'), { readOnly: true });
  try {
    for (const { k, type, body } of db.prepare('SELECT k, type, body FROM records').iterate())
      if (typeof body !== 'string')
        search(zstdDecompressSync(body as Uint8Array), `packed ${type as string} ${k as number}`);
  } finally {
    db.close();
  }
  return found;
}
