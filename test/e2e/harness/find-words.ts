import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';

export type FoundWord = { readonly word: string; readonly place: string };

/** Every file below a folder that holds one of the words in its name or its bytes. */
export async function findWordsInFiles(
  folder: string,
  words: readonly string[],
): Promise<readonly FoundWord[]> {
  const found: FoundWord[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.push(...wordsIn(entry.name, words, `the name of ${relative(folder, path)}`));
    found.push(...wordsIn(await readFile(path), words, relative(folder, path)));
  }
  return found;
}

const wordsIn = (content: Buffer | string, words: readonly string[], place: string): readonly FoundWord[] =>
  words.filter((word) => content.includes(word)).map((word) => ({ word, place }));

/**
 * Every place below a folder that holds one of the words: in the bytes of a file, also of free pages and write-ahead
 * files, and in the unpacked body of a record. It shares no code with the log. Call it while no service runs.
 */
export async function findWords(folder: string, words: readonly string[]): Promise<readonly FoundWord[]> {
  const found = [...(await findWordsInFiles(folder, words))];
  const db = new DatabaseSync(join(folder, 'log', 'log.sqlite'), { readOnly: true });
  try {
    for (const { k, type, body } of db.prepare('SELECT k, type, body FROM records').iterate())
      if (typeof body !== 'string')
        found.push(
          ...wordsIn(
            zstdDecompressSync(body as Uint8Array),
            words,
            `packed ${type as string} ${k as number}`,
          ),
        );
  } finally {
    db.close();
  }
  return found;
}
