import { createHash, randomBytes } from 'node:crypto';
import { access, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { NotNow, UsageError } from '../../shared/runtime/command-errors.ts';
import { makeParts, passes } from '../../shared/runtime/make-folder.ts';
import { type Encoding, jsonLines, type LineWriter } from './line-writer.ts';

/** bytes of a file name that every file system allows, minus the extensions */
const LONGEST_NAME = 200;
const PART = /\.(?:jsonl|parquet)\.[0-9a-f]{8}\.part$/;

/**
 * Writes one file per session, such as `<session>.jsonl`, atomically. A session that has a file is not written again,
 * so a restarted export continues where it stopped.
 * @throws UsageError when the folder cannot be created or written
 * @throws NotNow (also by `write`) when the disk is full or gone
 */
export async function folderWriter(
  folder: string,
  { extension, encode }: Encoding = jsonLines,
): Promise<LineWriter> {
  await makeParts(resolve(folder))
    .then(() => removeParts(folder))
    .catch((error: NodeJS.ErrnoException) => {
      const why = `cannot write to ${folder}: ${error.message}`;
      throw passes(error) ? new NotNow(why) : new UsageError(why);
    });
  return {
    isWritten: (session) =>
      access(join(folder, fileOf(session, extension))).then(
        () => true,
        () => false,
      ),
    write: async (lines, session) => {
      if (lines.length === 0) return; // nothing to export
      const path = join(folder, fileOf(session, extension));
      const part = `${path}.${randomBytes(4).toString('hex')}.part`;
      try {
        const file = await open(part, 'wx', 0o600);
        try {
          await file.writeFile(encode(lines));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(part, path);
        await syncFolder(folder);
      } catch (error) {
        throw new NotNow(`cannot write ${path}: ${(error as Error).message}`);
      } finally {
        await rm(part, { force: true });
      }
    },
    ready: async () => {},
    close: async () => {},
  };
}

/** ms after which a part counts as abandoned */
const PART_OLD_MS = 60_000;

/** Removes parts that a killed process left behind. */
async function removeParts(folder: string): Promise<void> {
  const parts = (await readdir(folder)).filter((name) => PART.test(name)).map((name) => join(folder, name));
  for (const part of parts) {
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > PART_OLD_MS) await rm(part, { force: true });
  }
}

/** A rename is durable only once its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

/** File name of a session; names that no file system allows are encoded or shortened. */
export function fileOf(session: string, extension = jsonLines.extension): string {
  const name = encodeURIComponent(session).replace(/^\./, '%2E');
  if (name.length <= LONGEST_NAME) return `${name}.${extension}`;
  const digest = createHash('sha256').update(session).digest('hex').slice(0, 16);
  return `${name.slice(0, LONGEST_NAME - 17)}-${digest}.${extension}`;
}
