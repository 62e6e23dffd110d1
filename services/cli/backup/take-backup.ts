import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { defined } from '../../../shared/lang/defined.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import type { Done } from '../../../shared/runtime/progress-bar.ts';
import { type BackupFolder, numberOfPoint, pointId } from './backup-folder.ts';
import type { CheckpointSource } from './checkpoint-source.ts';
import { copyFile, filesBelow, flush, flushFolders, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import {
  type CheckpointPlan,
  type Earlier,
  earlierIn,
  keepCheckpoint,
  planCheckpoint,
  storedIn,
} from './keep-checkpoint.ts';
import type { LogSource, LogState } from './log-source.ts';
import { bytesOf, type Manifest, type StoredCheckpoint, type StoredFile, writeManifest } from './manifest.ts';
import { lineageOf } from './named-checkpoints.ts';
import { openTarget, requireSpace } from './open-target.ts';
import { removeOldPoints } from './points.ts';

/** Progress in bytes, and what is copied now. */
export type BackupProgress = Done & { readonly what: string };

export type BackupOptions = {
  /** how many points remain; undefined: all */
  readonly keepPoints: number | undefined;
  /** RFC 3339, UTC */
  readonly time: string;
  readonly onProgress: (progress: BackupProgress) => void;
  readonly signal: AbortSignal;
};

export type Taken = {
  readonly manifest: Manifest;
  /** checkpoints that were not in the backup before */
  readonly copied: number;
  /** written by this backup */
  readonly bytes: number;
  /** ids of points that were removed */
  readonly removed: readonly string[];
};

/** What is backed up. */
export type BackedUp = {
  readonly data: DataFolder;
  readonly log: LogSource;
  readonly checkpoints: CheckpointSource;
};

/**
 * Adds a point to a backup, while services run. The order decides what a restore finds:
 *
 *  - The outbox first: an event that leaves it meanwhile is in the log, which is read later.
 *  - Then one state of the log.
 *  - Then the checkpoints that this state names. They exist, because a checkpoint is committed before the log names
 *    it. Newer ones are not copied.
 *  - Then the keys: those that the log mentions exist.
 *
 * @throws Refusal, NotNow, LogRefused, LogUnavailable, FileError, StoreUnavailable, the signal's reason
 */
export async function takeBackup(
  from: BackedUp,
  folder: BackupFolder,
  options: BackupOptions,
): Promise<Taken> {
  const close = await openTarget(folder, from.log.logId);
  try {
    const taken = await takePoint(from, folder, await earlierIn(folder), options);
    const { keepPoints } = options;
    return { ...taken, removed: keepPoints === undefined ? [] : await removeOldPoints(folder, keepPoints) };
  } finally {
    await close();
  }
}

/** Adds a point to a folder that this process has claimed. @param earlier what the point need not repeat */
export async function takePoint(
  from: BackedUp,
  folder: BackupFolder,
  earlier: Earlier,
  options: Omit<BackupOptions, 'keepPoints'>,
): Promise<Omit<Taken, 'removed'>> {
  const staged = join(folder.unfinished, randomUUID());
  const outbox = await copyNamed(from.data, staged, await outboxFiles(from.data), options);
  const state = await from.log.open(staged, options.signal);
  try {
    return await addPoint({ from, folder, earlier, staged, state, outbox }, options);
  } finally {
    state.close();
  }
}

type Staging = {
  readonly from: BackedUp;
  readonly folder: BackupFolder;
  readonly earlier: Earlier;
  /** where the point is written */
  readonly staged: string;
  readonly state: LogState;
  readonly outbox: readonly StoredFile[];
};

async function addPoint(
  { from, folder, earlier, staged, state, outbox }: Staging,
  { time, onProgress, signal }: Omit<BackupOptions, 'keepPoints'>,
): Promise<Omit<Taken, 'removed'>> {
  const { data } = from;
  const { logId } = from.log;
  const lineage = lineageOf(state.lineage);
  const stored = storedIn(earlier.points);
  const plans = await Promise.all(
    lineage.named.map((named) => planCheckpoint(named, from.checkpoints, stored, earlier.isWhole)),
  );
  const toCopy = bytesOf(plans.filter((plan) => plan.kind === 'copied'));
  await requireSpace(folder.root, state.bytes + toCopy);
  const progress = openProgress(state.work + toCopy, onProgress);

  const log = await state.copyTo(staged, { ...progress.of('the log'), signal });
  state.close();
  const kept = await keepAll(plans, folder, (what) => ({ ...progress.of(what), signal }));
  const small = await copyNamed(data, staged, smallFiles(data), { signal });

  const last = earlier.points.at(-1)?.id;
  const manifest: Manifest = {
    format: 1,
    point: pointId((last === undefined ? 0 : numberOfPoint(last)!) + 1, time),
    time,
    logId,
    heads: [...log.heads],
    ...defined({ records: log.records }),
    versions: { ...lineage.versions },
    files: [...log.files, ...small, ...outbox],
    checkpoints: kept.checkpoints.toSorted((a, b) => a.version - b.version),
    missing: [...kept.missing],
  };
  signal.throwIfAborted();
  await using('write', staged, async () => {
    await writeManifest(staged, manifest);
    await flushFolders(staged);
    await rename(staged, folder.point(manifest.point));
    await flush(folder.points);
  });
  const bytes = bytesOf([...manifest.files, ...kept.copied.flatMap(({ files }) => files)]);
  return { manifest, copied: kept.copied.length, bytes };
}

/** Copies the checkpoints that the backup lacks. */
async function keepAll(
  plans: readonly CheckpointPlan[],
  folder: BackupFolder,
  reading: (what: string) => Reading,
) {
  const checkpoints: StoredCheckpoint[] = [];
  const copied: StoredCheckpoint[] = [];
  const missing: Manifest['missing'] = [];
  const lacks = ({ named: { adapter, version, name, isInUse }, why }: Absent) => {
    if (isInUse) missing.push({ adapter, version, name, why });
  };
  for (const plan of plans) {
    if (plan.kind === 'stored') checkpoints.push(plan.checkpoint);
    if (plan.kind === 'absent') lacks(plan);
    if (plan.kind !== 'copied') continue;
    const { named } = plan;
    const kept = await keepCheckpoint(plan, folder, reading(`${named.adapter}/${named.name}`));
    if ('why' in kept) lacks({ named, why: kept.why });
    else copied.push(kept);
  }
  return { checkpoints: [...checkpoints, ...copied], copied, missing };
}

type Absent = Pick<Extract<CheckpointPlan, { readonly kind: 'absent' }>, 'named' | 'why'>;

/** Copies files of the data folder; one that does not exist, or no longer, is left out. */
async function copyNamed(
  data: DataFolder,
  staged: string,
  paths: readonly string[],
  { signal }: Pick<Reading, 'signal'>,
): Promise<readonly StoredFile[]> {
  const copied: StoredFile[] = [];
  for (const path of paths)
    try {
      const copy = await copyFile(join(data.root, path), join(staged, path), { onBytes: () => {}, signal });
      copied.push({ path, ...copy });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  return copied;
}

/** Events that wait, and those that were set aside. A file that is being written has another name. */
const outboxFiles = async ({ outbox }: DataFolder): Promise<readonly string[]> =>
  (await filesBelow(outbox))
    .filter((name) => /\.json(\.broken)?$/.test(name))
    .map((name) => join(basename(outbox), name));

const smallFiles = ({ keys, sessionSecret, usedTokens }: DataFolder): readonly string[] =>
  [keys, sessionSecret, usedTokens].map((path) => basename(path));

/** Adds up the bytes of all parts. */
function openProgress(total: number, onProgress: (progress: BackupProgress) => void) {
  let done = 0;
  return {
    of: (what: string) => ({
      onBytes: (bytes: number): void => {
        done += bytes;
        onProgress({ done, total, what });
      },
    }),
  };
}
