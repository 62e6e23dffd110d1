import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { LearningPaused } from '../../events/learning-paused.ts';
import { logError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { openSqliteLog } from '../sqlite/open-sqlite-log.ts';
import { isSnapshotDue, keepSnapshot } from './keep-snapshot.ts';
import { openSnapshots } from './snapshots.ts';

let folder: string;
let log: EventLog;
const open = () => openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-snapshots-'));
  log = await open();
  await log.append(['a', 'b', 'c'].map(paused));
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

const paused = (id: string) =>
  LearningPaused.create({
    id,
    source: 'clawloop/test',
    time: '2026-01-01T00:00:00Z',
    data: { adapter: 'default' },
  });
const kind = { name: 'count', version: 1, state: z.object({ count: z.int() }) };
const path = () => join(folder, 'count.snapshot');
const snapshots = (of: Partial<EventLog> = {}) => openSnapshots({ folder, log: { ...log, ...of } });
const stored = { upTo: { training: [3] }, state: { count: 3 } };
const save = () => snapshots().save(kind, stored);

test('a state is loaded as it was stored, also after more records', async () => {
  expect(await snapshots().load(kind)).toBeUndefined();
  expect(await save()).toBe(true);
  await log.append([paused('d')]);
  expect(await snapshots().load(kind)).toEqual(stored);
});

test('a state of another version, another view, another log or another form is ignored', async () => {
  await save();
  expect(await snapshots().load({ ...kind, version: 2 })).toBeUndefined();
  expect(await snapshots({ logId: 'another' }).load(kind)).toBeUndefined();
  expect(await snapshots().load({ ...kind, state: z.object({ sum: z.int() }) })).toBeUndefined();
  await writeFile(join(folder, 'other.snapshot'), await readFile(path()));
  expect(await snapshots().load({ ...kind, name: 'other' })).toBeUndefined();
});

test('a damaged file is ignored, wherever the damage is', async () => {
  await save();
  const bytes = await readFile(path());
  for (let at = 0; at < bytes.length - 1; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = damaged[at]! ^ 1;
    await writeFile(path(), damaged);
    expect(await snapshots().load(kind)).toBeUndefined();
  }
  for (let length = 0; length < bytes.length - 1; length++) {
    await writeFile(path(), bytes.subarray(0, length));
    expect(await snapshots().load(kind)).toBeUndefined();
  }
});

test('a log that lost its last records, or holds others in their place, is read from its beginning', async () => {
  await save();
  await log.close();
  const db = new DatabaseSync(join(folder, 'log', 'log.sqlite'));
  db.exec('DELETE FROM records WHERE k IN (SELECT max(k) FROM records)');
  db.close();
  log = await open();
  expect(await snapshots().load(kind)).toBeUndefined();
  await log.append([paused('d')]);
  expect(await snapshots().load(kind)).toBeUndefined();
  expect(await snapshots({ read: async () => paused('d') }).load(kind)).toBeUndefined();
});

test('a log that deleted its first records, or does not answer, is read from its beginning', async () => {
  await save();
  expect(await snapshots({ starts: async () => [1] }).load(kind)).toBeUndefined();
  const away = () => Promise.reject(logError('LogUnavailable', 'away'));
  expect(await snapshots({ ends: away }).load(kind)).toBeUndefined();
});

test('offsets without a record, as transactions leave them, do not hide the last record', async () => {
  const gone = logError('RecordGone', 'a marker');
  const withMarkers = snapshots({
    ends: async () => [5],
    read: async (topic, at) => {
      if (at.offset > 2) throw gone;
      return log.read(topic, at);
    },
  });
  const later = { ...stored, upTo: { training: [5] } };
  expect(await withMarkers.save(kind, later)).toBe(true);
  expect(await withMarkers.load(kind)).toEqual(later);
  expect(await snapshots({ read: () => Promise.reject(gone) }).save(kind, stored)).toBe(false);
});

test('a state is stored after many records, sooner while the view reads the past, and at times after few', () => {
  const due = (ms: number, records: number, isCaughtUp = true) =>
    isSnapshotDue({ ms, records, isCaughtUp }, 100);
  expect([due(10_000, 100, false), due(9_999, 100, false)]).toEqual([true, false]);
  expect([due(60_000, 100), due(59_999, 100), due(60_000, 99)]).toEqual([true, false, false]);
  expect([due(600_000, 1), due(600_000, 0), due(599_999, 1)]).toEqual([true, false, false]);
});

const keepCount = (of: Partial<EventLog> = {}) =>
  keepSnapshot({
    snapshots: snapshots(of),
    kind,
    stored: undefined,
    upTo: () => stored.upTo,
    state: () => stored.state,
    isCaughtUp: () => true,
    onFailure: (error) => {
      throw error;
    },
  });

test('the end stores the latest state, and does not wait for a log that hangs', async () => {
  await keepCount({ read: () => new Promise(() => {}) }).close();
  expect(await snapshots().load(kind)).toBeUndefined();
  await keepCount().close();
  expect(await snapshots().load(kind)).toEqual(stored);
});
