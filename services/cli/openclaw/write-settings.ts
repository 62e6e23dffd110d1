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
  /** the file has the settings already */
  | { readonly kind: 'nothing' }
  /** rewriting the file would lose something, such as comments */
  | { readonly kind: 'by-hand' };

/** Plans a change of the settings. Nothing is written. */
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
 * Writes the planned settings atomically and keeps a backup beside the file.
 *
 * @returns path of the backup; undefined: there was no file
 * @throws Error when the file has changed since it was planned
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
      throw new Error(`${file} has changed meanwhile; nothing was written`);
    }
  }
  const draft = `${file}.${process.pid}.draft`;
  await writeFile(draft, after, { mode: 0o600, flag: 'wx' });
  await chmod(draft, mode); // the file's previous mode, regardless of the umask
  await rename(draft, file);
  return backup;
}
