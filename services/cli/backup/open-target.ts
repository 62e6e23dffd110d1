import { mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import { makeParts } from '../../../shared/runtime/make-folder.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';
import { type BackupFolder, OF_A_DISK } from './backup-folder.ts';
import { using } from './file-errors.ts';
import { markerOf, requireMarkerOf } from './marker.ts';

/**
 * Prepares a folder for another point of a log, and claims it for this process.
 * @returns a function that ends the claim, and removes what is unfinished
 * @throws Refusal when the folder holds something else; NotNow when another backup writes to it
 */
export async function openTarget(folder: BackupFolder, logId: string): Promise<() => Promise<void>> {
  return using('write', folder.root, async () => {
    await makeParts(folder.root);
    if (!(await isBackupOf(folder, logId))) {
      await refuseOtherFiles(folder);
      await writeDurably(folder.marker, markerOf(logId));
    }
    await makeFolders(folder);
    const claim = claimFile(folder.lock);
    if (claim === undefined) throw new NotNow(`another backup is writing to ${folder.root}; try again later`);
    const clean = () => rm(folder.unfinished, { recursive: true, force: true });
    try {
      await clean(); // what a killed backup left
      await makeFolders(folder);
    } catch (error) {
      claim.release();
      throw error;
    }
    return async () => {
      await clean().catch(() => {}); // the next backup removes it
      claim.release();
    };
  });
}

const makeFolders = async ({ points, checkpoints, unfinished }: BackupFolder): Promise<void> => {
  for (const path of [points, checkpoints, unfinished]) await mkdir(path, { recursive: true, mode: 0o700 });
};

/** False: the folder is not marked. @throws Refusal when it is a backup of another log, or of a newer version */
async function isBackupOf(folder: BackupFolder, logId: string): Promise<boolean> {
  const text = await readFile(folder.marker, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return false;
  requireMarkerOf(logId, text, folder.root);
  return true;
}

async function refuseOtherFiles({ root }: BackupFolder): Promise<void> {
  const other = (await readdir(root)).find((name) => !name.startsWith('.') && name !== OF_A_DISK);
  if (other !== undefined)
    throw new Refusal(`${root} holds other files, such as ${other}: give an empty or a new folder`);
}

/** @throws NotNow when a copy does not fit */
export async function requireSpace(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  if (bytes > free)
    throw new NotNow(
      `${path} has ${megabytes(free)} free, but ${megabytes(bytes)} are needed: free disk space, or give another folder`,
    );
}
