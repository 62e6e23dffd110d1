import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { openCheckpointStore } from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import { commitVersion, promote, rollBack } from '../../../test/e2e/serving-promote.ts';
import { type BackupFolder, backupFolder } from './backup-folder.ts';
import { folderCheckpoints } from './checkpoint-source.ts';
import type { Manifest } from './manifest.ts';
import { pointIds } from './point-ids.ts';
import { folderSource } from './point-source.ts';
import { restorePoint } from './read-point.ts';
import { sqliteSource } from './sqlite-source.ts';
import { type BackupOptions, takeBackup } from './take-backup.ts';

let place: string;
let data: DataFolder;
let folder: BackupFolder;
let log: EventLog;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'clawloop-take-backup-'));
  data = dataFolder(join(place, 'data'));
  folder = backupFolder(join(place, 'backup'));
  log = await openSqliteLog({ folder: data.log, partitions: 1 });
});
afterEach(async () => {
  await log.close();
  await rm(place, { recursive: true, force: true });
});

const options: BackupOptions = {
  keepPoints: undefined,
  time: '2026-03-01T12:00:00.000Z',
  onProgress: () => {},
  signal: new AbortController().signal,
};
const take = (changes: Partial<BackupOptions> = {}) =>
  takeBackup({ data, log: sqliteSource(data), checkpoints: folderCheckpoints(data.checkpoints) }, folder, {
    ...options,
    ...changes,
  });
const feedback = (id: string) =>
  FeedbackGiven.create({
    id,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { interactionId: id, lane: 'a', key: 'k', score: 1 },
  });

/** Trains a version on the version before: commits its checkpoint and makes it the head. */
async function train(version: number, adapter = 'default'): Promise<string> {
  const parent = version - 1;
  const committed = await commitVersion(data.checkpoints(adapter), {
    version,
    parent,
    strength: version,
    adapter,
    baseDigest: 'base',
  });
  await promote(log, { version, parent, adapter, ...committed });
  return committed.checkpoint;
}

const namesIn = ({ checkpoints }: Manifest) => checkpoints.map(({ adapter, name }) => `${adapter}/${name}`);

/** Once: as soon as the log is being copied. */
function duringCopy(work: () => Promise<void>) {
  let done: Promise<void> | undefined;
  const onProgress = () => {
    done ??= work();
  };
  return { onProgress, done: () => done };
}

test('a point has the checkpoints that its log names, and none that is newer', async () => {
  const names = [await train(1), await train(2), await train(1, 'other')];
  let newer = '';
  const during = duringCopy(async () => {
    newer = await train(3);
  });
  const { manifest } = await take({ onProgress: during.onProgress });
  await during.done();
  expect(manifest.versions).toEqual({ default: 2, other: 1 });
  expect(namesIn(manifest).sort()).toEqual([
    `default/${names[0]}`,
    `default/${names[1]}`,
    `other/${names[2]}`,
  ]);
  const restored = dataFolder(join(place, 'restored'));
  await restorePoint(folderSource(folder), manifest, { data: restored }, options);
  const store = openCheckpointStore(restored.checkpoints('default'));
  expect((await store.list()).map(({ name }) => name)).toEqual([names[0], names[1]]);
  expect(await store.has(newer)).toBe(false);
  expect((await store.read(names[1]!)).state.digest).toBe(manifest.checkpoints.at(-1)!.digest);
});

test('a checkpoint that the log does not name is not copied: its step runs again', async () => {
  await train(1);
  await commitVersion(data.checkpoints('default'), {
    version: 2,
    parent: 1,
    strength: 2,
    baseDigest: 'base',
  });
  expect(namesIn((await take()).manifest)).toHaveLength(1);
});

test('an event is in the point, whether it waits in the outbox or leaves it during the backup', async () => {
  await log.append([feedback('first')]);
  await mkdir(data.outbox, { recursive: true });
  const file = join(data.outbox, '000000000000001-here-tag-10.json');
  await writeFile(file, 'an event');
  await writeFile(join(data.outbox, 'half.json.12.part'), 'an ev');
  const during = duringCopy(() => rm(file));
  const { manifest } = await take({ onProgress: during.onProgress });
  expect(manifest.files.map(({ path }) => path)).toEqual([
    'log/log.sqlite',
    'outbox/000000000000001-here-tag-10.json',
  ]);
});

test('a later point copies only checkpoints that are new, and one that is not whole in the backup', async () => {
  await train(1);
  await train(2);
  expect(await take()).toMatchObject({ copied: 2 });
  expect(await take()).toMatchObject({ copied: 0 });
  await train(3);
  const third = await take();
  expect(third.copied).toBe(1);
  const [first] = third.manifest.checkpoints;
  await rm(join(folder.root, first!.place, 'state.json'));
  const { manifest } = await take();
  expect(namesIn(manifest)).toEqual(namesIn(third.manifest));
  await restorePoint(folderSource(folder), manifest, { data: dataFolder(join(place, 'restored')) }, options);
});

test('of the checkpoints, those that only removed points name are removed', async () => {
  const first = await train(1);
  await take();
  await rm(join(data.checkpoints('default'), first), { recursive: true }); // as the trainer's pruning does
  const second = await train(2);
  const third = await train(3);
  const { manifest } = await take();
  expect(namesIn(manifest)).toEqual([`default/${second}`, `default/${third}`]);
  expect(manifest.missing).toEqual([]);
  expect(await readdir(join(folder.checkpoints, 'default'))).toHaveLength(3);
  expect(await take({ keepPoints: 2 })).toMatchObject({ removed: ['0001-20260301T120000Z'] });
  expect(await pointIds(folder)).toEqual(['0002-20260301T120000Z', '0003-20260301T120000Z']);
  expect((await readdir(join(folder.checkpoints, 'default'))).map((name) => name[0]).sort()).toEqual([
    '2',
    '3',
  ]);
});

test('a checkpoint in use that cannot be read is reported, and the rest is backed up', async () => {
  const [first, second] = [await train(1), await train(2)];
  const file = join(data.checkpoints('default'), second, 'adapter_model.safetensors');
  const bytes = await readFile(file);
  await writeFile(file, bytes.with(-1, bytes.at(-1)! ^ 1));
  const { manifest } = await take();
  expect(namesIn(manifest)).toEqual([`default/${first}`]);
  expect(manifest.missing).toEqual([
    { adapter: 'default', version: 2, name: second, why: expect.stringContaining('is damaged') },
  ]);
  await rollBack(log, 2, 1);
  expect((await take()).manifest).toMatchObject({ versions: { default: 1 }, missing: [] });
});

test('a changed byte in a checkpoint of the backup is refused, and nothing is restored', async () => {
  await train(1);
  const { manifest } = await take();
  const file = join(folder.root, manifest.checkpoints[0]!.place, 'adapter_model.safetensors');
  const bytes = await readFile(file);
  await writeFile(file, bytes.with(-1, bytes.at(-1)! ^ 1));
  const restoring = restorePoint(
    folderSource(folder),
    manifest,
    { data: dataFolder(join(place, 'restored')) },
    options,
  );
  await expect(restoring).rejects.toMatchObject({ name: 'Refusal', message: expect.stringContaining(file) });
  expect((await readdir(place)).sort()).toEqual(['backup', 'data']);
  await rm(join(file, '..'), { recursive: true });
  await take();
  await restorePoint(folderSource(folder), manifest, { data: dataFolder(join(place, 'restored')) }, options);
});

test('an abort leaves the earlier point, and nothing unfinished', async () => {
  await train(1);
  await take();
  const before = await readdir(folder.root, { recursive: true });
  await train(2);
  const stop = new AbortController();
  const stopped = take({ onProgress: () => stop.abort(), signal: stop.signal });
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
  expect((await readdir(folder.root, { recursive: true })).sort()).toEqual(before.sort());
});
