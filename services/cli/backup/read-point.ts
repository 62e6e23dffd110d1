import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { makeParts } from '../../../shared/runtime/make-folder.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import type { BackupFolder } from './backup-folder.ts';
import { copyFile, digestOfFile, flush, flushFolders, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import { bytesOf, filesOf, type Manifest, type StoredFile } from './manifest.ts';
import { requireSpace } from './open-target.ts';
import type { BackupOptions } from './take-backup.ts';

type Options = Pick<BackupOptions, 'onProgress' | 'signal'>;

/** Reads all files of a point. @throws Refusal for the first one that is not as it was written */
export async function verifyPoint(folder: BackupFolder, point: Manifest, options: Options): Promise<void> {
  const reading = readingOf(point, folder, options);
  for (const file of filesOf(folder, point))
    requireEqual(file.stored, file, await digestOfFile(file.stored, reading(file.path)));
}

/** Where a restore writes, until all of it has been compared with the digests. */
const STAGING = '.restoring';

/**
 * Writes a point to an absent or empty data folder. Nothing has its final name before every digest was checked, and
 * the log comes last: without it, the folder is no data folder.
 *
 * @throws Refusal, NotNow, FileError, the signal's reason
 */
export async function restorePoint(
  folder: BackupFolder,
  point: Manifest,
  data: DataFolder,
  options: Options,
): Promise<void> {
  const isNew = await prepare(data);
  const staging = join(data.root, STAGING);
  const reading = readingOf(point, folder, options);
  let isDone = false;
  try {
    const files = filesOf(folder, point);
    await using('write', staging, () => mkdir(staging, { mode: 0o700 }));
    await requireSpace(data.root, bytesOf(files));
    for (const file of files)
      requireEqual(
        file.stored,
        file,
        await copyFile(file.stored, join(staging, file.path), reading(file.path)),
      );
    options.signal.throwIfAborted();
    await using('write', data.root, () => moveInto(data.root, staging));
    isDone = true;
  } finally {
    await rm(staging, { recursive: true, force: true });
    if (!isDone && isNew) await rmdir(data.root).catch(() => {});
  }
}

/** @returns whether the data folder is new @throws Refusal when it holds anything but an unfinished restore */
async function prepare({ root }: DataFolder): Promise<boolean> {
  const isNew = await stat(root).then(
    () => false,
    () => true,
  );
  await using('write', root, async () => {
    await makeParts(root);
    const held = (await readdir(root)).find((name) => name !== STAGING);
    if (held !== undefined)
      throw new Refusal(
        `${root} is not empty: it holds ${held}. Give a new folder with --data-folder; move old data away, and never mix it`,
      );
    await rm(join(root, STAGING), { recursive: true, force: true });
  });
  return isNew;
}

/** The log last. */
async function moveInto(root: string, staging: string): Promise<void> {
  await flushFolders(staging);
  const names = await readdir(staging);
  for (const name of [...names.filter((one) => one !== 'log'), 'log'])
    await rename(join(staging, name), join(root, name));
  await flush(root);
}

function readingOf(point: Manifest, folder: BackupFolder, { onProgress, signal }: Options) {
  const total = bytesOf(filesOf(folder, point));
  let done = 0;
  return (what: string): Reading => ({
    signal,
    onBytes: (bytes) => {
      done += bytes;
      onProgress({ done, total, what });
    },
  });
}

function requireEqual(
  path: string,
  expected: StoredFile,
  { bytes, sha256 }: Pick<StoredFile, 'bytes' | 'sha256'>,
): void {
  if (bytes === expected.bytes && sha256 === expected.sha256) return;
  const how =
    bytes === expected.bytes ? 'its bytes have changed' : `it has ${bytes} bytes of ${expected.bytes}`;
  throw new Refusal(`the backup is damaged: ${path} is not as it was written (${how}). Use another point`);
}
