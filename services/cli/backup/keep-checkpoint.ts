import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CheckpointDamaged } from '../../../shared/policy/checkpoints/checkpoint-files.ts';
import { readServed } from '../../../shared/policy/checkpoints/served.ts';
import { isStoreUnavailable } from '../../../shared/policy/checkpoints/store-unavailable.ts';
import { type BackupFolder, type NamedCheckpoint, placeOfCheckpoint } from './backup-folder.ts';
import type { CheckpointSource, FoundCheckpoint } from './checkpoint-source.ts';
import { flush, flushFolders, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import type { StoredCheckpoint, StoredFile } from './manifest.ts';
import { folderSource, type Point, readPoints } from './point-source.ts';
import { remove } from './points.ts';

type Named = NamedCheckpoint & { readonly isInUse: boolean };

/** What a backup does with a checkpoint that the log names. */
export type CheckpointPlan =
  | { readonly kind: 'stored'; readonly checkpoint: StoredCheckpoint }
  | {
      readonly kind: 'copied';
      readonly named: Named;
      readonly found: FoundCheckpoint;
      readonly bytes: number;
    }
  | { readonly kind: 'absent'; readonly named: Named; readonly why: string };

/**
 * Finds out whether a checkpoint is in the backup already; if not, whether the source has it. One that the trainer has
 * removed is not needed any more, so later points do without it, unless it is in use.
 *
 * @throws StoreUnavailable
 */
export async function planCheckpoint(
  named: Named,
  source: CheckpointSource,
  stored: ReadonlyMap<string, StoredCheckpoint>,
  isWhole: Earlier['isWhole'],
): Promise<CheckpointPlan> {
  const isThere = await source.has(named);
  if (!isThere && !named.isInUse) return { kind: 'absent', named, why: 'the trainer removed it' };
  const checkpoint = stored.get(placeOfCheckpoint(named));
  if (checkpoint !== undefined && (await isWhole(checkpoint))) return { kind: 'stored', checkpoint };
  try {
    const found = await source.find(named);
    if (found.digest !== named.digest) return { kind: 'absent', named, why: otherNumbers(found.from) };
    return { kind: 'copied', named, found, bytes: found.bytes };
  } catch (error) {
    if (isStoreUnavailable(error)) throw error;
    return { kind: 'absent', named, why: (error as Error).message };
  }
}

const otherNumbers = (from: string): string => `${from} holds other numbers than the log names`;

/** By place: the checkpoints of earlier points, which are not copied again. */
export const storedIn = (points: readonly Point[]): ReadonlyMap<string, StoredCheckpoint> =>
  new Map(
    points
      .flatMap((point) => ('manifest' in point ? point.manifest.checkpoints : []))
      .map((checkpoint) => [checkpoint.place, checkpoint]),
  );

/** What the backup holds before another point is added. */
export type Earlier = {
  readonly points: readonly Point[];
  /** Whether all files of a checkpoint are there, with their sizes: `clawloop backup verify` reads the bytes. */
  readonly isWhole: (checkpoint: StoredCheckpoint) => Promise<boolean>;
};

export const earlierIn = async (folder: BackupFolder): Promise<Earlier> => ({
  points: await readPoints(folderSource(folder)),
  isWhole: (checkpoint) => hasFilesOf(folder, checkpoint),
});

async function hasFilesOf({ root }: BackupFolder, { place, files }: StoredCheckpoint): Promise<boolean> {
  const sizes = files.map(async ({ path, bytes }) => {
    const found = await stat(join(root, place, path)).catch(() => undefined);
    return found?.size === bytes;
  });
  return (await Promise.all(sizes)).every(Boolean);
}

/**
 * Copies a checkpoint into the backup, completely or not at all, and checks that a server could load the copy.
 * @returns why it cannot, or that the trainer removed the checkpoint meanwhile
 */
export async function keepCheckpoint(
  { named, found }: Extract<CheckpointPlan, { readonly kind: 'copied' }>,
  folder: BackupFolder,
  reading: Reading,
): Promise<StoredCheckpoint | { readonly why: string }> {
  const copy = join(folder.unfinished, randomUUID());
  const place = placeOfCheckpoint(named);
  const { from } = found;
  let files: readonly StoredFile[];
  try {
    files = await found.copyTo(copy, reading);
    const { state } = await readServed(copy);
    if (state.digest !== named.digest) return { why: otherNumbers(from) };
  } catch (error) {
    await rm(copy, { recursive: true, force: true });
    if (isGone(error)) return { why: `${from} was removed` };
    if (error instanceof CheckpointDamaged) return { why: error.message.replace(copy, from) };
    throw error;
  }
  await using('write', copy, async () => {
    await flushFolders(copy);
    const final = join(folder.root, place);
    await mkdir(dirname(final), { recursive: true, mode: 0o700 });
    // no complete point names it: a killed backup left it, or its files are not whole
    await remove(folder, final).catch(ignoreAbsent);
    await rename(copy, final);
    await flush(dirname(final));
  });
  const { adapter, version, name, digest } = named;
  return { adapter, version, name, digest, place, files: [...files] };
}

/** A file to read does not exist; the one to write always does. */
const isGone = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' && (error as Error).message.startsWith('cannot read');

function ignoreAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
