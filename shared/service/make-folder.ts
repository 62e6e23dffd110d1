import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Refusal } from './refusal.ts';

/** What passes when a person has made room, or the disk is back: no reason to give up for good. */
const passing: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'EBUSY']);
export const passes = ({ code = '' }: NodeJS.ErrnoException): boolean => passing.has(code);

/**
 * Makes a folder with those above it, for this user alone, and finds out by a file whether it can be written to. Part by part: of
 * a folder under /proc Node's own recursive way never returns.
 * @throws Refusal where no second try would help
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  try {
    await makeParts(folder);
    const probe = join(folder, `.probe-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe, { force: true });
  } catch (error) {
    if (passes(error as NodeJS.ErrnoException)) throw error;
    throw new Refusal(`cannot write to ${folder} (${(error as Error).message}); give --data-folder`);
  }
}

async function makeParts(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isDirectory()) return;
  if (dirname(folder) !== folder) await makeParts(dirname(folder));
  await mkdir(folder, 0o700).catch((error: NodeJS.ErrnoException) => {
    // another process was first; a file of that name shows when the probe is written
    if (error.code !== 'EEXIST') throw error;
  });
}
