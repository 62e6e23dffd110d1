import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Refusal } from './refusal.ts';

/** Group and others may do nothing. */
const OTHERS = 0o077;
const ROOT = 0;

/**
 * What this process makes from now on is for its user alone: the data folder holds conversations. Each process
 * calls it first; a worker thread cannot.
 */
export function keepFilesPrivate(): void {
  process.umask(OTHERS);
}

/** Of a folder: whom it belongs to, and what group and others may do in it. */
export type FolderAccess = { readonly uid: number; readonly mode: number };

/**
 * Whether a folder belongs to a user that this one need not trust: that user could plant keys, or the secret
 * of session keys. The superuser can do so in any folder.
 */
export const isForeign = ({ uid }: FolderAccess, ownUid: number | undefined): boolean =>
  ownUid !== undefined && uid !== ownUid && uid !== ROOT;

/** @throws Refusal where another user owns the folder; one that is not there is fine */
export async function refuseForeignFolder(path: string, ownUid = process.geteuid?.()): Promise<void> {
  const folder = resolve(path);
  const found = await accessOf(folder);
  if (found === undefined || !isForeign(found, ownUid)) return;
  throw new Refusal(
    `${folder} belongs to the user with id ${found.uid}, who could plant access keys there; ` +
      'start ClawLoop as that user, or give another --data-folder',
  );
}

/** What to do about a folder that other users of the machine can enter; undefined: nothing. */
export async function widerThanPrivate(
  path: string,
): Promise<{ readonly what: string; readonly advice: string } | undefined> {
  const folder = resolve(path);
  const { mode = 0 } = (await accessOf(folder)) ?? {};
  if ((mode & OTHERS) === 0) return undefined;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  return {
    what: `other users of this machine can enter ${folder} (mode ${shown}), which holds conversations`,
    advice: `chmod -R go= ${folder}`,
  };
}

/** Undefined where there is no such folder, or it cannot be seen: whoever writes to it finds out why. */
const accessOf = (folder: string): Promise<FolderAccess | undefined> => stat(folder).catch(() => undefined);
