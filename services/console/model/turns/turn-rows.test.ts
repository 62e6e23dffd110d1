import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import type { EventLog } from '../../../../shared/log/event-log.ts';
import type { Placed } from '../../../../shared/views/testing/random-chains.ts';
import { createTurnsInMemory } from '../../../../shared/views/testing/turns-in-memory.ts';
import { type Answers, answers, byHand } from '../../testing/answers.ts';
import { isBefore, logWith, type Starts, startsAt, untrimmed, upToOf } from '../../testing/log-with.ts';
import { createDraw, inLoop, randomTurns } from '../../testing/random-turns.ts';
import { countFacets } from '../facets.ts';
import { learningView } from '../learning.ts';
import { peopleIn, sessionsIn } from '../people.ts';
import { createTurnRows, openTurnRows, type TurnRows } from './turn-rows.ts';

const read = (rows: { readonly on: TurnRows['on'] }, records: readonly Placed[]): void => {
  for (const { record, topic } of inLoop(records)) rows.on(record, topic);
};

async function pathOfFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-rows-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'console.sqlite');
}

/** Answers after one read of everything, and one trim. */
async function fromZero(records: readonly Placed[], starts: Starts): Promise<Answers> {
  const rows = createTurnRows();
  read(rows, records);
  await rows.forget(starts);
  return answers(rows);
}

test.each([1, 2, 3, 4, 5, 6])(
  'rows that grew in random parts, with trims, answer every query as rows made at once, and as every turn says, seed %i',
  async (seed) => {
    const draw = createDraw(`parts ${seed}`);
    const records = randomTurns(seed);
    const path = await pathOfFile();
    let [count, trimmed, starts] = [0, 0, untrimmed];
    let rows = await openTurnRows(path, logWith(records, 0));
    while (count < records.length) {
      const next = Math.min(records.length, count + 1 + draw(90));
      // records that were read before change nothing
      read(rows, records.slice(Math.max(0, count - draw(30)), next));
      count = next;
      if (draw(2) === 0) trimmed = Math.max(trimmed, count - 60 - draw(200));
      starts = startsAt(records, trimmed);
      if (draw(2) === 0) await rows.forget(starts);
      if (draw(2) === 0) {
        rows.close();
        rows = await openTurnRows(path, logWith(records, count, starts));
        // everything that was read is known
        expect(rows.upTo()).toEqual(upToOf(records.slice(0, count)));
      }
      await rows.forget(starts);
      const grown = await answers(rows);
      expect(grown, `${count} records`).toEqual(await fromZero(records.slice(0, count), starts));
      const memory = createTurnsInMemory();
      read(memory, records.slice(0, count));
      const kept = memory.turns().filter(({ row }) => !isBefore(starts, records.slice(0, count), row.id));
      expect(byHand(kept, memory.session), `${count} records`).toEqual(grown);
    }
    expect(starts).not.toEqual(untrimmed);
    expect(rows.size()).toBeGreaterThan(5);
    rows.close();
  },
);

test('an ended session goes with its last turn, an open one stays', async () => {
  const records = randomTurns(7, 40);
  const rows = createTurnRows();
  read(rows, records);
  const names = ['s-0', 's-1', 's-7'];
  const [ended] = names.filter((name) => rows.session(name)?.isClosed);
  await rows.forget(startsAt(records, records.length));
  expect(rows.size()).toBe(0);
  expect(ended).toBeDefined();
  for (const name of names)
    expect(rows.session(name)?.isClosed ?? true).toBe(rows.session(name) === undefined);
});

test('a trim changes the rows only: nothing that is known is read again', async () => {
  const records = randomTurns(8);
  const path = await pathOfFile();
  const rows = await openTurnRows(path, logWith(records, 0));
  read(rows, records);
  rows.close();
  const starts = startsAt(records, 300);
  const later = await openTurnRows(path, logWith(records, records.length, starts));
  expect(later.upTo()).toEqual(upToOf(records));
  expect(await answers(later)).toEqual(await fromZero(records, starts));
  later.close();
});

test.each([
  ['is another one', { logId: 'another' }],
  ['ends earlier', { ends: async () => [1, 1] }],
  ['holds another record at the end', { read: async () => randomTurns(1)[3]!.record.event }],
  ['was trimmed beyond what was read', { starts: async () => [1_000, 1_000] }],
] as const)('rows are made anew when the log %s', async (_what, change) => {
  const records = randomTurns(9);
  const path = await pathOfFile();
  const rows = await openTurnRows(path, logWith(records, 0));
  read(rows, records);
  rows.close();
  const changed = { ...logWith(records, records.length), ...change } as EventLog;
  const anew = await openTurnRows(path, changed);
  expect(anew.size()).toBe(0);
  anew.close();
});

test('what is read after a freeze is shown, and not stored', async () => {
  const records = randomTurns(10);
  const path = await pathOfFile();
  const rows = await openTurnRows(path, logWith(records, 0));
  read(rows, records.slice(0, 200));
  rows.freeze();
  read(rows, records.slice(200));
  expect(await answers(rows)).toEqual(await fromZero(records, untrimmed));
  rows.close();
  const later = await openTurnRows(path, logWith(records, records.length));
  expect(later.upTo()).toEqual(upToOf(records.slice(0, 200)));
  expect(await answers(later)).toEqual(await fromZero(records.slice(0, 200), untrimmed));
  later.close();
});

test('a count, a batch or a turn that something else changed is noticed, and the next start makes the file anew', async () => {
  const records = randomTurns(11);
  const path = await pathOfFile();
  for (const [change, use] of [
    ['UPDATE facets SET turns = turns + 1', (rows: TurnRows) => countFacets(rows, 'default')],
    ['UPDATE versions SET good = bad, bad = good + 1', (rows: TurnRows) => learningView(rows, 'default')],
    ['UPDATE people SET turns = turns + 2', peopleIn],
    ['UPDATE talks SET trained = trained + 1', (rows: TurnRows) => sessionsIn(rows, { limit: 5 })],
    [
      'UPDATE batches SET data = replace(data, \'"n"\', \'"m"\')',
      (rows: TurnRows) => rows.batch('b-2') ?? allBatches(rows),
    ],
    ['UPDATE turns SET live = 1 - live', (rows: TurnRows) => rows.turn('t-000')],
    ['DROP TABLE wishes', (rows: TurnRows) => learningView(rows, 'default')],
  ] as const) {
    const rows = await openTurnRows(path, logWith(records, records.length));
    read(rows, records);
    rows.close();
    const db = new DatabaseSync(path);
    db.exec(change);
    db.close();
    const damaged = await openTurnRows(path, logWith(records, records.length));
    // a file that lacks a table is not even opened
    if (damaged.size() > 0) {
      expect(() => use(damaged), change).toThrow();
      await expect(damaged.broken).rejects.toThrow();
    }
    damaged.close();
    const anew = await openTurnRows(path, logWith(records, records.length));
    expect(anew.size(), change).toBe(0);
    anew.close();
  }
});

const allBatches = (rows: TurnRows) =>
  Array.from({ length: 120 }, (_, n) => rows.batch(`b-${n}`)).filter((batch) => batch !== undefined);

test('where the folder cannot be written, or the file is no database, the rows are made all the same', async () => {
  const records = randomTurns(12);
  const path = await pathOfFile();
  await writeFile(path, 'no database, but text that is long enough for the header of one'.repeat(9));
  for (const at of [path, join(path, 'below-a-file', 'console.sqlite')]) {
    const rows = await openTurnRows(at, logWith(records, records.length));
    read(rows, records);
    expect(await answers(rows)).toEqual(await fromZero(records, untrimmed));
    rows.close();
  }
  expect(await readFile(path, 'latin1')).toMatch(/^SQLite format 3/);
});

test('a folder that is deleted while the console runs costs the next start a read, and nothing else', async () => {
  const records = randomTurns(13);
  const path = await pathOfFile();
  const rows = await openTurnRows(path, logWith(records, 0));
  read(rows, records.slice(0, 100));
  rows.commit();
  for (const end of ['', '-wal']) await rm(path + end, { force: true });
  read(rows, records.slice(100));
  expect(await answers(rows)).toEqual(await fromZero(records, untrimmed));
  rows.close();
  const anew = await openTurnRows(path, logWith(records, records.length));
  expect(anew.size()).toBe(0);
  anew.close();
});
