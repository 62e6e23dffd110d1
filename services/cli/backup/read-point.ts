import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { makeParts } from '../../../shared/runtime/make-folder.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { OF_A_DISK } from './backup-folder.ts';
import { type Digest, flush, flushFolders, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import { bytesOf, type Manifest, type PointFile } from './manifest.ts';
import { requireSpace } from './open-target.ts';
import type { PointSource } from './point-source.ts';
import type { BackupOptions } from './take-backup.ts';

type Options = Pick<BackupOptions, 'onProgress' | 'signal'>;

/** Reads all files of a point. @throws Refusal for the first one that is not as it was written */
export async function verifyPoint(source: PointSource, point: Manifest, options: Options): Promise<void> {
  const files = source.filesOf(point);
  const reading = readingOf(files, options);
  for (const file of files) requireEqual(file, await source.digest(file, reading(file.path)));
}

/** Where a restore writes, until all of it has been compared with the digests. */
const STAGING = '.restoring';
const LOG = 'log';

/** Where the log of a point goes, if not to the data folder. */
export type LogTarget = {
  /** Writes the log, which nobody can open yet. @param staged holds the files of the point */
  readonly fill: (staged: string, reading: Reading) => Promise<void>;
  /** Makes the log ready to be opened. */
  readonly finish: () => Promise<void>;
};

/**
 * Writes a point to an absent or empty data folder. Nothing has its final name before every digest was checked, and
 * the log comes last: without it, the folder is no data folder. A log outside is filled first and finished last.
 *
 * @throws Refusal, NotNow, FileError, LogUnavailable, LogMismatch, the signal's reason
 */
export async function restorePoint(
  source: PointSource,
  point: Manifest,
  { data, target }: { readonly data: DataFolder; readonly target?: LogTarget },
  options: Options,
): Promise<void> {
  const files = source.filesOf(point);
  const isNew = await prepare(data, new Set(files.map(({ path }) => path.split('/')[0]!)));
  const staging = join(data.root, STAGING);
  const reading = readingOf([...files, ...(target === undefined ? [] : filesOfLog(files))], options);
  let isDone = false;
  try {
    await using('write', staging, () => mkdir(staging, { mode: 0o700 }));
    await requireSpace(data.root, bytesOf(files));
    for (const file of files)
      requireEqual(file, await source.copy(file, join(staging, file.path), reading(file.path)));
    options.signal.throwIfAborted();
    await target?.fill(staging, reading('the log'));
    options.signal.throwIfAborted();
    await using('write', data.root, () => moveInto(data.root, staging, target === undefined));
    await rm(staging, { recursive: true, force: true });
    isDone = true;
    await target?.finish().catch((error: Error) => {
      throw new NotNow(notConfirmed(data, error));
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
    if (!isDone && isNew) await rmdir(data.root).catch(() => {});
  }
}

const filesOfLog = (files: readonly PointFile[]): readonly PointFile[] =>
  files.filter(({ path }) => path.startsWith(`${LOG}/`));

const notConfirmed = ({ root }: DataFolder, { message }: Error): string =>
  `${root} is complete, but the brokers did not confirm the end of the restore (${message}). ` +
  'If a service says that the restore has not finished, restore again, to another new folder';

/**
 * Removes what an unfinished restore left, also if it had begun to give files their final names.
 *
 * @param names that a restore writes into the data folder
 * @returns whether the data folder is new
 * @throws Refusal when it holds anything but an unfinished restore
 */
async function prepare({ root }: DataFolder, names: ReadonlySet<string>): Promise<boolean> {
  const isNew = !(await exists(root));
  await using('write', root, async () => {
    await makeParts(root);
    const found = (await readdir(root)).filter((name) => name !== STAGING && name !== OF_A_DISK);
    // The log is renamed last, so a log in the staging folder shows that all other names came from there.
    const isUnfinished = !found.includes(LOG) && (await exists(join(root, STAGING, LOG)));
    const held = found.find((name) => !(isUnfinished && names.has(name)));
    if (held !== undefined)
      throw new Refusal(
        `${root} is not empty: it holds ${held}. Give a new folder with --data-folder; move old data away, and never mix it`,
      );
    for (const name of [...found, STAGING]) await rm(join(root, name), { recursive: true, force: true });
  });
  return isNew;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The log last. One that is elsewhere stays in the staging folder, and marks the restore as unfinished. */
async function moveInto(root: string, staging: string, withLog: boolean): Promise<void> {
  await flushFolders(staging);
  const names = await readdir(staging);
  for (const name of [...names.filter((one) => one !== LOG), ...(withLog ? [LOG] : [])])
    await rename(join(staging, name), join(root, name));
  await flush(root);
}

function readingOf(files: readonly PointFile[], { onProgress, signal }: Options) {
  const total = bytesOf(files);
  let done = 0;
  return (what: string): Reading => ({
    signal,
    onBytes: (bytes) => {
      done += bytes;
      onProgress({ done, total, what });
    },
  });
}

function requireEqual({ stored: path, ...expected }: PointFile, { bytes, sha256 }: Digest): void {
  if (bytes === expected.bytes && sha256 === expected.sha256) return;
  const how =
    bytes === expected.bytes ? 'its bytes have changed' : `it has ${bytes} bytes of ${expected.bytes}`;
  throw new Refusal(`the backup is damaged: ${path} is not as it was written (${how}). Use another point`);
}
