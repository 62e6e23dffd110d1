import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import { isLogError } from '../errors.ts';
import type { Fold } from '../fold.ts';
import { openSqliteLog } from './open-sqlite-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clawloop-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const named = (name: Parameters<typeof isLogError>[1]) => (error: unknown) => isLogError(error, name);

test('many processes that open a new log at the same time get one log', async () => {
  const logs = await Promise.all(Array.from({ length: 4 }, () => openSqliteLog({ folder })));
  expect(new Set(logs.map(({ logId }) => logId)).size).toBe(1);
  expect(await logs[0]!.ends('turns')).toEqual([0, 0, 0]);
  await Promise.all(logs.map((log) => log.close()));
});

test('the partition count is fixed when the log is created', async () => {
  await (await openSqliteLog({ folder, partitions: 5 })).close();
  await expect(openSqliteLog({ folder, partitions: 3 })).rejects.toSatisfy(named('LogMismatch'));
  const log = await openSqliteLog({ folder });
  expect(await log.ends('turns')).toHaveLength(5);
  await log.close();
});

test('a file of a newer version is left unchanged', async () => {
  await (await openSqliteLog({ folder })).close();
  const db = new DatabaseSync(join(folder, 'log.sqlite'));
  db.exec("UPDATE meta SET value = '99' WHERE name = 'schemaVersion'");
  db.close();
  await expect(openSqliteLog({ folder })).rejects.toSatisfy(named('NewerSchema'));
});

test('a file whose rows were migrated is refused by programs that know no versions of rows', async () => {
  const file = join(folder, 'log.sqlite');
  const storedVersion = () => {
    const db = new DatabaseSync(file, { readOnly: true });
    const version = db.prepare("SELECT value FROM meta WHERE name = 'schemaVersion'").get()!.value;
    db.close();
    return version;
  };
  const fold = async (migrations: Fold['migrations'] = []) => {
    const log = await openSqliteLog({ folder });
    const stop = new AbortController();
    const on = () => ({ changes: [], emit: [] });
    const options = { group: 'g', settings: null };
    const done = log.process(
      { name: 'g', reads: 'turns', writes: 'turns', on, migrations },
      options,
      stop.signal,
    );
    const versions = async () => (await log.committed('g')).map(({ rowsVersion }) => rowsVersion);
    await expect
      .poll(versions, { timeout: 20_000, interval: 10 })
      .toEqual([0, 1, 2].map(() => 1 + migrations.length));
    stop.abort();
    await done;
    await log.close();
  };
  await fold();
  expect(storedVersion()).toBe('2');
  const db = new DatabaseSync(file);
  db.exec('DROP TABLE row_versions'); // as an earlier release left it
  db.close();
  await fold();
  expect(storedVersion()).toBe('2');
  await fold([() => []]);
  expect(storedVersion()).toBe('4');
});

test('a body with repeated text takes little space', async () => {
  const log = await openSqliteLog({ folder });
  const comment = 'the same agent prompt again '.repeat(40_000);
  const data = { interactionId: 'f', lane: 'a', key: 'k', score: 1, comment };
  await log.append([FeedbackGiven.create({ id: 'f', source: 'test', time: '2026-03-01T12:00:00Z', data })]);
  await log.close();
  const db = new DatabaseSync(join(folder, 'log.sqlite'));
  expect(Number(db.prepare('SELECT length(body) AS bytes FROM records').get()!.bytes)).toBeLessThan(
    comment.length / 100,
  );
  db.close();
});

test('a damaged file is refused by name, since no wait repairs it', async () => {
  const log = await openSqliteLog({ folder });
  await log.close();
  const file = join(folder, 'log.sqlite');
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, 4096)); // the first page has the file's format
  await expect(openSqliteLog({ folder })).rejects.toSatisfy(named('LogRefused'));
  await expect(openSqliteLog({ folder })).rejects.toThrow(`${file} is damaged`);
});
