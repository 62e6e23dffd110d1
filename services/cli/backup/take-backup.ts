import { randomUUID } from 'node:crypto';
import { mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type LogSnapshot, openSnapshot } from '../../../shared/log/sqlite/log-snapshot.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import type { Done } from '../../../shared/runtime/progress-bar.ts';
import { type BackupFolder, numberOfPoint, pointId } from './backup-folder.ts';
import { copyFile, digestOfFile, filesBelow, flush, flushFolders, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import { type CheckpointPlan, keepCheckpoint, planCheckpoint, storedIn } from './keep-checkpoint.ts';
import { bytesOf, type Manifest, type StoredCheckpoint, type StoredFile, writeManifest } from './manifest.ts';
import { lineageOf, lineageTypes } from './named-checkpoints.ts';
import { openTarget, requireSpace } from './open-target.ts';
import { pointIds, readPoints, removeOldPoints } from './points.ts';

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

/**
 * Adds a point to a backup, while services run. The order decides what a restore finds:
 *
 *  - The outbox first: an event that leaves it meanwhile is in the log, which is read later.
 *  - Then one state of the log.
 *  - Then the checkpoints that this state names. They exist, because a checkpoint is committed before the log names
 *    it. Newer ones are not copied.
 *  - Then the keys: those that the log mentions exist.
 *
 * @throws Refusal, NotNow, LogRefused, LogUnavailable, FileError, the signal's reason
 */
export async function takeBackup(
  data: DataFolder,
  folder: BackupFolder,
  options: BackupOptions,
): Promise<Taken> {
  const { logId } = withSnapshot(data, ({ logId }) => ({ logId }));
  const close = await openTarget(folder, logId);
  try {
    const staged = join(folder.unfinished, randomUUID());
    const outbox = await copyNamed(data, staged, await outboxFiles(data), options);
    const snapshot = openSnapshot(data.log);
    try {
      return await addPoint({ data, folder, staged, snapshot, outbox }, options);
    } finally {
      snapshot.close();
    }
  } finally {
    await close();
  }
}

type Staging = {
  readonly data: DataFolder;
  readonly folder: BackupFolder;
  /** where the point is written */
  readonly staged: string;
  readonly snapshot: LogSnapshot;
  readonly outbox: readonly StoredFile[];
};

async function addPoint(
  { data, folder, staged, snapshot, outbox }: Staging,
  { keepPoints, time, onProgress, signal }: BackupOptions,
): Promise<Taken> {
  const { logId, heads } = snapshot;
  const lineage = lineageOf(snapshot.events('training', lineageTypes));
  const stored = storedIn(await readPoints(folder));
  const plans = await Promise.all(lineage.named.map((named) => planCheckpoint(named, data, stored, folder)));
  const toCopy = bytesOf(plans.filter((plan) => plan.kind === 'copied'));
  await requireSpace(folder.root, snapshot.bytes + toCopy);
  const progress = openProgress(2 * snapshot.bytes + toCopy, onProgress);

  const log = await copyLog(snapshot, staged, { ...progress.of('the log'), signal });
  snapshot.close(); // SQLite may clear its write-ahead log again
  const kept = await keepAll(plans, folder, (what) => ({ ...progress.of(what), signal }));
  const small = await copyNamed(data, staged, smallFiles(data), { signal });

  const last = (await pointIds(folder)).at(-1);
  const manifest: Manifest = {
    format: 1,
    point: pointId((last === undefined ? 0 : numberOfPoint(last)!) + 1, time),
    time,
    logId,
    heads: [...heads],
    versions: { ...lineage.versions },
    files: [log, ...small, ...outbox],
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
  const removed = keepPoints === undefined ? [] : await removeOldPoints(folder, keepPoints);
  const bytes = bytesOf([...manifest.files, ...kept.copied.flatMap(({ files }) => files)]);
  return { manifest, copied: kept.copied.length, bytes, removed };
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

function withSnapshot<Result>(data: DataFolder, use: (snapshot: LogSnapshot) => Result): Result {
  const snapshot = openSnapshot(data.log);
  try {
    return use(snapshot);
  } finally {
    snapshot.close();
  }
}

async function copyLog(
  snapshot: LogSnapshot,
  staged: string,
  { onBytes, signal }: Reading,
): Promise<StoredFile> {
  const path = join('log', 'log.sqlite');
  const target = join(staged, path);
  let before = 0;
  const onProgress = ({ done, total }: Done) => {
    const now = Math.round((snapshot.bytes * done) / Math.max(1, total));
    onBytes(now - before);
    before = now;
  };
  await using('write', target, async () => {
    await mkdir(join(staged, 'log'), { recursive: true });
    await snapshot.copyTo(target, { onProgress, signal });
  });
  onBytes(snapshot.bytes - before);
  return { path, ...(await digestOfFile(target, { onBytes, signal })) };
}

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
