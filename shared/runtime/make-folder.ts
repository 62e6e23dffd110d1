import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Refusal } from './refusal.ts';

/** Errors that may pass, for example after freeing disk space. */
const passing: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'EBUSY']);
export const passes = ({ code = '' }: NodeJS.ErrnoException): boolean => passing.has(code);

/**
 * Creates a folder and its parents for this user only, and checks that it is writable.
 * @throws Refusal when a retry would not help
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

/**
 * Creates a folder and its parents for this user only, each part separately, because Node's recursive mkdir never
 * returns for a folder under /proc.
 */
export async function makeParts(folder: string): Promise<void> {
  const status = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (status?.isDirectory()) return;
  if (dirname(folder) !== folder) await makeParts(dirname(folder));
  await mkdir(folder, 0o700).catch((error: NodeJS.ErrnoException) => {
    // another process created it; if it is a file, writing the probe fails
    if (error.code !== 'EEXIST') throw error;
  });
}
