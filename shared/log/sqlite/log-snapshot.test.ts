import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import { isLogError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { readTopic } from '../read-topic.ts';
import { openSnapshot } from './log-snapshot.ts';
import { openSqliteLog } from './open-sqlite-log.ts';

let place: string;
let folder: string;
let log: EventLog;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'clawloop-snapshot-'));
  folder = join(place, 'log');
  log = await openSqliteLog({ folder, partitions: 2 });
});
afterEach(async () => {
  await log.close();
  await rm(place, { recursive: true, force: true });
});

const feedback = (id: string, comment = '') =>
  FeedbackGiven.create({
    id,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { interactionId: id, lane: id, key: 'k', score: 1, comment },
  });
/** Letters that cannot be compressed, so that a copy takes several steps. */
const noise = () => randomBytes(60_000).toString('hex');
const { signal } = new AbortController();

async function idsIn(logFolder: string): Promise<readonly string[]> {
  const copy = await openSqliteLog({ folder: logFolder });
  const ids: string[] = [];
  await readTopic(copy, 'conversations', ({ event }) => ids.push(event.id));
  const heads = await copy.verify('conversations');
  await copy.close();
  expect(heads.filter(({ broken }) => broken !== undefined)).toEqual([]);
  return ids.sort();
}

test('a copy has the state at its opening, although records are appended during the copy', async () => {
  for (let n = 0; n < 10; n += 1)
    await log.append(Array.from({ length: 30 }, (_, m) => feedback(`before-${n}-${m}`, noise())));
  const snapshot = openSnapshot(folder);
  const late: Promise<void>[] = [];
  const target = join(place, 'copy', 'log.sqlite');
  await mkdir(join(place, 'copy'));
  await snapshot.copyTo(target, {
    onProgress: () => void late.push(log.append([feedback(`during-${late.length}`)])),
    signal,
  });
  expect(late.length).toBeGreaterThan(1);
  await Promise.all(late);
  const heads = snapshot.heads.filter(({ topic }) => topic === 'conversations');
  snapshot.close();
  expect(await readdir(join(place, 'copy'))).toEqual(['log.sqlite']);
  const ids = await idsIn(join(place, 'copy'));
  expect(ids).toHaveLength(300);
  expect(ids.every((id) => id.startsWith('before-'))).toBe(true);
  expect(heads.reduce((sum, { to }) => sum + to, 0)).toBe(300);
  expect((await idsIn(folder)).length).toBe(300 + late.length);
});

test('an abort ends the copy', async () => {
  for (let n = 0; n < 5; n += 1)
    await log.append(Array.from({ length: 30 }, (_, m) => feedback(`f-${n}-${m}`, noise())));
  const stop = new AbortController();
  const snapshot = openSnapshot(folder);
  const copying = snapshot.copyTo(join(place, 'copy.sqlite'), {
    onProgress: () => stop.abort(),
    signal: stop.signal,
  });
  await expect(copying).rejects.toMatchObject({ name: 'AbortError' });
  snapshot.close();
  await log.append([feedback('after')]);
});

test('a log with a damaged page is refused, so that no backup replaces a good one by a bad one', async () => {
  await log.append(
    Array.from({ length: 200 }, (_, n) => feedback(`f-${n}`, `${'x'.repeat(200)} marked-${n}.`)),
  );
  await log.close();
  const file = join(folder, 'log.sqlite');
  const bytes = await readFile(file);
  const page = Math.floor(bytes.indexOf('marked-40.') / 4096);
  await writeFile(file, bytes.fill(0xff, page * 4096, page * 4096 + 8));
  const snapshot = openSnapshot(folder);
  const copying = snapshot.copyTo(join(place, 'copy.sqlite'), { onProgress: () => {}, signal });
  await expect(copying).rejects.toSatisfy((error) => isLogError(error, 'LogRefused'));
  snapshot.close();
});

test('a file of another version, or of something else, is refused by name', async () => {
  const change = (sql: string) => {
    const db = new DatabaseSync(join(folder, 'log.sqlite'), { timeout: 10_000 });
    db.exec(sql);
    db.close();
  };
  const refusal = () => {
    try {
      openSnapshot(folder).close();
    } catch (error) {
      return (error as Error).name;
    }
    return 'none';
  };
  expect(refusal()).toBe('none');
  change("UPDATE meta SET value = '99' WHERE name = 'schemaVersion'");
  expect(refusal()).toBe('NewerSchema');
  change("UPDATE meta SET value = '1' WHERE name = 'schemaVersion'");
  expect(refusal()).toBe('LogMismatch');
  await log.close();
  await rm(folder, { recursive: true });
  expect(refusal()).toBe('LogUnavailable');
  await mkdir(folder);
  await writeFile(
    join(folder, 'log.sqlite'),
    'no database at all, but some text that is long enough'.repeat(200),
  );
  expect(refusal()).toBe('LogRefused');
});
