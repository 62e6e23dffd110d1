import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import type { EventLog } from '../event-log.ts';
import { openSqliteLog } from './open-sqlite-log.ts';

let folder: string;
let file: string;
let log: EventLog;

const feedback = (n: number, comment: string) =>
  FeedbackGiven.create({
    id: `f${n}`,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { interactionId: `i${n}`, lane: 'a', key: 'k', score: 1, comment },
  });
const open = () => openSqliteLog({ folder, partitions: 1 });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-verify-'));
  file = join(folder, 'log.sqlite');
  log = await open();
  // offsets 0; 1 and 2; 3, which is compressed; 4
  await log.append([feedback(0, 'first')]);
  await log.append([feedback(1, 'second'), feedback(2, 'third')]);
  await log.append([feedback(3, 'long '.repeat(2_000))]);
  await log.append([feedback(4, 'last')]);
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

function tamper(sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}
/** Offset of a record, as SQL. */
const at = (offset: number) => `(SELECT min(k) + ${offset} FROM records)`;
const broken = async () => (await log.verify('conversations'))[0]!.broken;

test.each([
  ['a body', `UPDATE records SET body = replace(body, 'third', 'thord') WHERE k = ${at(2)}`, 1, 3],
  ['a score', `UPDATE records SET body = replace(body, '"score":1', '"score":2') WHERE k = ${at(4)}`, 4, 5],
  ['the bytes of a long body', `UPDATE records SET body = x'00' WHERE k = ${at(3)}`, 3, 4],
  ['a type', `UPDATE records SET type = 'session.ended' WHERE k = ${at(0)}`, 0, 1],
  ['a key', `UPDATE records SET subject = 'b' WHERE k = ${at(1)}`, 1, 3],
  ['a time', `UPDATE records SET time = time + 1 WHERE k = ${at(1)}`, 1, 3],
  ['a link', `UPDATE records SET link = 'abc' WHERE k = ${at(3)}`, 3, 4],
])('a change of %s is found, with its position', async (_, sql, from, to) => {
  expect(await broken()).toBeUndefined();
  tamper(sql);
  expect(await broken()).toMatchObject({ from, to });
});

test.each([0, 1, 2, 3, 4])('removed record %i is found', async (offset) => {
  tamper(`DELETE FROM records WHERE k = ${offset === 0 ? '(SELECT min(k) FROM records)' : at(offset)}`);
  expect((await broken())?.why).toBe(`record ${offset} is missing`);
});

test('swapped records, and a record added at the end, are found', async () => {
  tamper(`UPDATE records SET body = CASE k WHEN ${at(1)} THEN (SELECT body FROM records WHERE k = ${at(2)})
    ELSE (SELECT body FROM records WHERE k = ${at(1)}) END WHERE k IN (${at(1)}, ${at(2)})`);
  expect(await broken()).toMatchObject({ from: 1, to: 3 });
});

test('a chain that was rewritten from the start differs from a head noted earlier', async () => {
  const noted = await log.verify('conversations');
  await log.close();
  await rm(folder, { recursive: true });
  log = await open();
  await log.append([0, 1, 2, 3, 4].map((n) => feedback(n, 'another')));
  expect(await broken()).toBeUndefined();
  const [chain] = await log.verify('conversations', noted);
  expect(chain!.broken).toMatchObject({ from: 0, to: 5, why: expect.stringContaining('noted') });
});

test('in a file without a chain, the chain begins at the next record', async () => {
  await log.close();
  tamper(
    `DROP TABLE runs; ALTER TABLE records DROP COLUMN link; UPDATE meta SET value = '1' WHERE name = 'schemaVersion'`,
  );
  log = await open();
  const empty = (await log.verify('conversations'))[0];
  expect(empty).toEqual({
    topic: 'conversations',
    partition: 0,
    from: 5,
    to: 5,
    head: '',
    records: 0,
  });
  await log.append([feedback(5, 'new')]);
  expect((await log.verify('conversations'))[0]).toMatchObject({ from: 5, to: 6, records: 1 });
  tamper(`UPDATE records SET subject = 'b' WHERE k = ${at(5)}`);
  expect(await broken()).toMatchObject({ from: 5, to: 6 });
});
