import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import { TurnSkipped } from '../../events/turn-skipped.ts';
import { isLogError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import { readToEnd } from '../read-topic.ts';
import { openSqliteLog, type SqliteLogOptions } from './open-sqlite-log.ts';

const PAGE = 4096;
let folder: string;
let file: string;
let logs: EventLog[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-damaged-'));
  file = join(folder, 'log.sqlite');
  logs = [];
});
afterEach(async () => {
  await Promise.all(logs.map((log) => log.close()));
  await rm(folder, { recursive: true, force: true });
});

async function open(more: Partial<SqliteLogOptions> = {}): Promise<EventLog> {
  const log = await openSqliteLog({ folder, partitions: 1, ...more });
  logs.push(log);
  return log;
}

const feedback = (n: number, comment: string) =>
  FeedbackGiven.create({
    id: `f${n}`,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { interactionId: `i${n}`, lane: 'a', key: 'k', score: 1, comment },
  });

/** Each record becomes a fact. */
const copy: Fold<null> = {
  name: 'copy',
  reads: 'conversations',
  writes: 'turns',
  on: (_rows, { id, source, time, subject }) => ({
    changes: [],
    emit: [
      TurnSkipped.create({
        id: `${id}/skipped`,
        source,
        time,
        data: { turnId: id, lane: subject, reason: 'side', by: id },
      }),
    ],
  }),
};

/** Folds all that there is; ids of the copies and errors of the dead letters. */
async function foldAll(log: EventLog) {
  const stop = new AbortController();
  const done = log.process(copy, { group: 'copies', settings: null }, stop.signal);
  const isLevel = async () =>
    (await log.lag('copies')).some(({ position, end }) => position === end && end > 0);
  await expect.poll(isLevel, { timeout: 20_000 }).toBe(true);
  stop.abort();
  await done;
  const copies: string[] = [];
  const letters: { readonly offset: number; readonly error: string }[] = [];
  for (const topic of ['turns', 'dead-letters'] as const) {
    const enough = new AbortController();
    const onRecord = ({ event }: { readonly event: { readonly type: string; readonly data: unknown } }) => {
      if (event.type === 'turn.skipped') copies.push((event.data as TurnSkipped['data']).turnId);
      else letters.push(letterOf(event.data));
    };
    const following = log.follow(topic, {}, onRecord, { signal: enough.signal });
    await following.caughtUp;
    enough.abort();
    await following.done;
  }
  return { copies, letters };
}

const letterOf = (data: unknown) => {
  const { at, error } = data as { readonly at: { readonly offset: number }; readonly error: string };
  return { offset: at.offset, error };
};

test('a body that cannot be unpacked goes to dead-letters, and the fold continues after it', async () => {
  const log = await open();
  await log.append([feedback(0, 'short'), feedback(1, 'long '.repeat(2_000)), feedback(2, 'short')]);
  const db = new DatabaseSync(file);
  db.prepare(`UPDATE records SET body = x'00112233' WHERE typeof(body) = 'blob'`).run();
  db.close();
  const { copies, letters } = await foldAll(log);
  expect(copies).toEqual(['f0', 'f2']);
  expect(letters).toEqual([{ offset: 1, error: expect.stringContaining('cannot be unpacked') }]);
  await expect(log.read('conversations', { partition: 0, offset: 1 })).rejects.toSatisfy((error) =>
    isLogError(error, 'BrokenRecord'),
  );
});

test('records of a damaged page go to dead-letters, and the fold continues after them', async () => {
  const before = await open();
  const count = 120;
  await before.append(
    Array.from({ length: count }, (_, n) => feedback(n, `${'x'.repeat(200)} marked-${n}.`)),
  );
  await before.close();
  const bytes = readFileSync(file);
  const page = Math.floor(bytes.indexOf('marked-40.') / PAGE);
  const lost = Array.from({ length: count }, (_, n) => n).filter((n) =>
    bytes.subarray(page * PAGE, (page + 1) * PAGE).includes(`marked-${n}.`),
  );
  bytes.fill(0xff, page * PAGE, page * PAGE + 8);
  writeFileSync(file, bytes);

  const log = await open();
  const { copies, letters } = await foldAll(log);
  expect(copies.length).toBeGreaterThan(90);
  const expected = Array.from({ length: count }, (_, n) => n).filter((n) => !lost.includes(n));
  expect(copies).toEqual(expected.map((n) => `f${n}`));
  expect(letters.map(({ offset }) => offset)).toEqual(lost);
  const rejected: number[] = [];
  const reader = await open({ onRejected: ({ offset }) => rejected.push(offset) });
  const ids: string[] = [];
  const onRecord = ({ event }: { readonly event: { readonly id: string } }) => void ids.push(event.id);
  await readToEnd(reader, 'conversations', onRecord, { wants: new Set(['feedback.given']) });
  expect(ids).toEqual(expected.map((n) => `f${n}`));
  expect(rejected).toEqual(lost);
});

test('offsets of lost records are never used again, and the loss is reported', async () => {
  const before = await open();
  await before.append([feedback(0, 'a'), feedback(1, 'b'), feedback(2, 'c')]);
  await foldAll(before);
  await before.close();
  const db = new DatabaseSync(file);
  db.exec('DELETE FROM records WHERE k IN (SELECT k FROM records ORDER BY k LIMIT 2 OFFSET 1)');
  db.close();

  const [lost, trimmed]: [unknown[], unknown[]] = [[], []];
  const log = await open({ onLost: (one) => lost.push(one), onTrimmed: (one) => trimmed.push(one) });
  expect(lost).toEqual([{ topic: 'conversations', partition: 0, from: 1, to: 3 }]);
  expect(await log.lag('copies')).toMatchObject([{ position: 3, end: 3 }]);
  await log.append([feedback(3, 'd')]);
  expect((await log.read('conversations', { partition: 0, offset: 3 })).id).toBe('f3');
  const { copies } = await foldAll(log);
  expect(copies).toEqual(['f0', 'f1', 'f2', 'f3']);
  const stop = new AbortController();
  const other = log.process(copy, { group: 'another', settings: null }, stop.signal);
  await expect
    .poll(() => trimmed, { timeout: 20_000 })
    .toEqual([{ group: 'another', topic: 'conversations', partition: 0, from: 1, to: 3 }]);
  stop.abort();
  await other;
});
