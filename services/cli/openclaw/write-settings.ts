import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Json } from './json.ts';
import { parsePlain } from './settings.ts';

export type Plan =
  | {
      readonly kind: 'write';
      readonly file: string;
      readonly before: string | undefined;
      readonly after: string;
    }
  /** it says what has to be said already */
  | { readonly kind: 'nothing' }
  /** the file would lose something: comments, say */
  | { readonly kind: 'by-hand' };

/** What the file would become by a change of its settings. Nothing is written. */
export async function planSettings(path: string, change: (settings: Json) => Json): Promise<Plan> {
  const file = await realpath(path).catch(() => path);
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const settings = before === undefined || before.trim() === '' ? {} : parsePlain(before);
  if (settings === undefined) return { kind: 'by-hand' };
  const after = `${JSON.stringify(change(settings), null, 2)}\n`;
  return JSON.stringify(settings) === JSON.stringify(JSON.parse(after))
    ? { kind: 'nothing' }
    : { kind: 'write', file, before, after };
}

/**
 * Writes what was planned, as a whole or not at all, and keeps the file as it was beside it.
 *
 * @returns the copy's path; undefined: there was no file
 * @throws Error when the file was changed since the plan was made
 */
export async function writePlan(
  { file, before, after }: Extract<Plan, { kind: 'write' }>,
  now: Date,
): Promise<string | undefined> {
  await mkdir(dirname(file), { recursive: true });
  const backup = before === undefined ? undefined : `${file}.${now.toISOString().replaceAll(':', '-')}.bak`;
  const mode = before === undefined ? 0o600 : (await stat(file)).mode & 0o777;
  if (backup !== undefined) {
    await copyFile(file, backup, constants.COPYFILE_EXCL);
    if ((await readFile(backup, 'utf8')) !== before) {
      await rm(backup);
      throw new Error(`${file} was changed meanwhile; nothing was written`);
    }
  }
  const draft = `${file}.${process.pid}.draft`;
  await writeFile(draft, after, { mode: 0o600, flag: 'wx' });
  await chmod(draft, mode); // that of the file before, whatever this process's umask is
  await rename(draft, file);
  return backup;
}
