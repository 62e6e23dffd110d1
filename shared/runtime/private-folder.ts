import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Refusal } from './refusal.ts';

/** permission bits of group and others */
const OTHERS = 0o077;
const ROOT = 0;

/**
 * Makes new files private to this user, because the data folder contains conversations. Every process calls this
 * first; a worker thread cannot.
 */
export function keepFilesPrivate(): void {
  process.umask(OTHERS);
}

/** Owner and permissions of a folder. */
type FolderAccess = { readonly uid: number; readonly mode: number };

/**
 * Whether a folder belongs to another, untrusted user, who could plant access keys or the session secret. The
 * superuser is trusted.
 */
export const isForeign = ({ uid }: FolderAccess, ownUid: number | undefined): boolean =>
  ownUid !== undefined && uid !== ownUid && uid !== ROOT;

/** @throws Refusal when another user owns the folder; a missing folder is fine */
export async function refuseForeignFolder(path: string, ownUid = process.geteuid?.()): Promise<void> {
  const folder = resolve(path);
  const access = await accessOf(folder);
  if (access === undefined || !isForeign(access, ownUid)) return;
  throw new Refusal(
    `${folder} belongs to the user with id ${access.uid}, who could plant access keys there; ` +
      'start ClawLoop as that user, or give another --data-folder',
  );
}

/** Warning and advice for a folder that other users can enter; undefined: none needed. */
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

/** Undefined if the folder is missing or not visible; a later write reports the reason. */
const accessOf = (folder: string): Promise<FolderAccess | undefined> => stat(folder).catch(() => undefined);
