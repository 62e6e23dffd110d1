import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { passes } from '../../../shared/service/make-folder.ts';
import { NotNow, UsageError } from '../command.ts';
import { type LineWriter, textOf } from './line-writer.ts';

/** Bytes of a name that every file system takes, less what is put behind it. */
const LONGEST_NAME = 200;
const PART = /\.jsonl\.[0-9a-f]{8}\.part$/;

/**
 * A file per session, `<session>.jsonl`, that is there whole or not at all. The files are the memory of what
 * was written: a session that has one is not written again, so who starts anew goes on where it stopped.
 * @throws UsageError where the folder cannot be made or written
 * @throws NotNow, `write` too, where the disk is full or away
 */
export async function folderWriter(folder: string): Promise<LineWriter> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
    .then(() => removeParts(folder))
    .catch((error: NodeJS.ErrnoException) => {
      const why = `${folder} cannot be written: ${error.message}`;
      throw passes(error) ? new NotNow(why) : new UsageError(why);
    });
  return {
    isWritten: (session) =>
      access(join(folder, fileOf(session))).then(
        () => true,
        () => false,
      ),
    write: async (lines, session) => {
      if (lines.length === 0) return; // nothing in it that could be exported
      const path = join(folder, fileOf(session));
      const part = `${path}.${randomBytes(4).toString('hex')}.part`;
      try {
        const file = await open(part, 'wx', 0o600);
        try {
          await file.writeFile(textOf(lines));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(part, path);
        await syncFolder(folder);
      } catch (error) {
        throw new NotNow(`${path} cannot be written: ${(error as Error).message}`);
      } finally {
        await rm(part, { force: true });
      }
    },
    ready: async () => {},
    close: async () => {},
  };
}

/** ms after which nobody writes on one any more */
const PART_OLD_MS = 60_000;

/** What a process that was killed left behind. */
async function removeParts(folder: string): Promise<void> {
  const parts = (await readdir(folder)).filter((name) => PART.test(name)).map((name) => join(folder, name));
  for (const part of parts) {
    const { mtimeMs } = await stat(part).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > PART_OLD_MS) await rm(part, { force: true });
  }
}

/** A name is as durable as its folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

/** As the session is called, where a file can be called so. */
export function fileOf(session: string): string {
  const name = encodeURIComponent(session).replace(/^\./, '%2E');
  if (name.length <= LONGEST_NAME) return `${name}.jsonl`;
  const digest = createHash('sha256').update(session).digest('hex').slice(0, 16);
  return `${name.slice(0, LONGEST_NAME - 17)}-${digest}.jsonl`;
}
