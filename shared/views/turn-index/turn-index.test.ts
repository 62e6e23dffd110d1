import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Topic } from '../../events/define-event.ts';
import { defined } from '../../lang/defined.ts';
import { logError } from '../../log/errors.ts';
import type { EventLog, Recorded } from '../../log/event-log.ts';
import { openSqliteLog } from '../../log/sqlite/open-sqlite-log.ts';
import { countingReads } from '../../log/testing/counting-reads.ts';
import { randomEvents } from '../../log/testing/random-events.ts';
import type { FoundTurn } from '../found-turn.ts';
import { unpackPlace } from '../place.ts';
import { logOf } from '../testing/log-of.ts';
import { randomChains } from '../testing/random-chains.ts';
import { createTurnsInMemory } from '../testing/turns-in-memory.ts';
import type { TurnIndex } from './queries.ts';
import { withTurnIndex } from './turn-index.ts';

let folder: string;
let log: EventLog;
const openLog = () => openSqliteLog({ folder: join(folder, 'log'), partitions: 2 });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-index-'));
  log = await openLog();
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

const now = Date.parse('2026-01-02T00:00:00Z');
const events = (seed: number, count = 400) => randomEvents(seed, count, now);
const path = () => join(folder, 'turns.sqlite');
/** Nothing can be stored below a file. */
const nowhere = () => join(folder, 'log', 'log.sqlite', 'none');

const shown = ({ row, view }: FoundTurn) => ({
  // the index does not keep batches: no command asks for them
  row: { ...row, places: row.places.toSorted((a, b) => a - b), batches: [] },
  view,
});
const known = (index: TurnIndex) => ({
  turns: index.turns({}).map(shown),
  sessions: index.sessions().toSorted((a, b) => (a.session < b.session ? -1 : 1)),
  counts: index.count({}),
  adapters: index.adapters({}),
});
const read = (at = folder, of: EventLog = log, together?: number) =>
  withTurnIndex({ log: of, folder: at, ...defined({ together }) }, known);

test.each([1, 2])('an index that grew in parts equals a read from zero, seed %i', async (seed) => {
  const all = events(seed);
  for (let from = 0; from < all.length; from += 97) {
    await log.append(all.slice(from, from + 97));
    expect(await read()).toEqual(await read(nowhere()));
  }
  expect((await read()).turns.length).toBeGreaterThan(10);
});

test.each([1, 2, 3])(
  'random cuts of chains with copies give what a read into memory knows, seed %i',
  async (seed) => {
    const records = randomChains(seed);
    const memory = createTurnsInMemory();
    for (const topic of ['conversations', 'turns', 'training'] as const)
      for (const one of records) if (one.topic === topic) memory.on(one.record, topic);
    const expected = memory
      .turns()
      .map(shown)
      .sort((a, b) => a.row.at - b.row.at);
    expect(expected.some(({ view }) => ['trained', 'in-batch'].includes(view.stage.kind))).toBe(true);
    for (const cut of [57, 200, records.length - 1]) {
      const own = join(folder, `cut-${cut}`);
      await read(own, logOf(records.slice(0, cut)));
      expect((await read(own, logOf(records))).turns, `cut at ${cut}`).toEqual(expected);
    }
  },
);

test('filters choose by session and adapter, and the last turns', async () => {
  await log.append(events(5));
  await withTurnIndex({ log, folder }, (index) => {
    const all = index.turns({});
    const ids = (turns: readonly FoundTurn[]) => turns.map(({ row }) => row.id);
    const byHand = (keep: (turn: FoundTurn) => boolean) => ids(all.filter(keep));
    expect(ids(index.turns({}, 7))).toEqual(ids(all.slice(-7)));
    expect(index.turns({}, 0)).toEqual([]);
    expect(index.adapters({})).toEqual(['default', 'other']);
    expect(index.adapters({ adapters: ['other', 'none'] })).toEqual(['other']);
    const other = { adapters: ['other'] };
    expect(ids(index.turns(other))).toEqual(byHand(({ view }) => view.adapter === 'other'));
    expect(index.count(other).turns).toBe(index.turns(other).length);
    for (const { session, turns } of index.sessions()) expect(index.turns({ session }).length).toBe(turns);
    expect(index.turns({ session: 'no such session' })).toEqual([]);
    expect(index.session('no such session')).toBeUndefined();
  });
});

/** Records that a read from zero gets. */
async function records(of: EventLog = log): Promise<number> {
  const counting = countingReads(of);
  await read(nowhere(), counting.log);
  return counting.count();
}

test('the next read takes only new records', async () => {
  await log.append(events(6));
  const before = await records();
  await read();
  await log.append(events(7, 30).map((event) => ({ ...event, id: `later-${event.id}` })));
  const counting = countingReads(log);
  expect(await read(folder, counting.log)).toEqual(await read(nowhere()));
  expect(counting.count()).toBe((await records()) - before);
});

/** The log, whose readers die after so many records. */
function dying(after: number): EventLog {
  let count = 0;
  const follow: EventLog['follow'] = (topic, from, onRecord, { signal, wants }) => {
    const once = (record: Recorded): void => {
      count += 1;
      if (count > after) throw new Error('died');
      onRecord(record);
    };
    return log.follow(topic, from, once, { signal, wants });
  };
  return { ...log, follow };
}

test.each([1, 2])('a read goes on where others were broken off, seed %i', async (seed) => {
  const all = events(20 + seed);
  await log.append(all.slice(0, 250));
  for (const after of [45, 61, 83, 110]) {
    await expect(read(folder, dying(after), 20)).rejects.toThrow('died');
    if (after === 83) await log.append(all.slice(250));
  }
  const counting = countingReads(log);
  expect(await read(folder, counting.log, 20)).toEqual(await read(nowhere()));
  // of the four reads, 40, 60, 80 and 100 records stayed
  expect(counting.count()).toBe((await records()) - 280);
});

test('an index of another log, or of a log that lost records, is made anew', async () => {
  await log.append(events(8));
  await read();
  for (const change of [
    { logId: 'another' },
    { read: async () => events(9)[0]! },
    { starts: async () => [900, 900] },
  ] satisfies Partial<EventLog>[]) {
    const changed = { ...log, ...change };
    const counting = countingReads(changed);
    expect(await read(folder, counting.log)).toEqual(await read(nowhere(), changed));
    expect(counting.count()).toBe(await records(changed));
    await read();
  }
});

test('after a trim, outdated turns and ended sessions go, and nothing is read again', async () => {
  await log.append(events(8));
  const before = await read();
  const half = async (topic: Topic) =>
    (await log.ends(topic)).map((end) => (topic === 'training' ? 0 : Math.floor(end / 2)));
  const starts = await half('conversations');
  const isKept = ({ row }: FoundTurn): boolean => {
    const { partition, offset } = unpackPlace(row.at);
    return offset >= starts[partition]!;
  };
  const trimmed = countingReads({ ...log, starts: half });
  for (let time = 0; time < 2; time++) {
    const after = await read(folder, trimmed.log);
    expect(trimmed.count()).toBe(0);
    expect(after.turns).toEqual(before.turns.filter(isKept));
    expect(after.turns.length).toBeLessThan(before.turns.length);
    expect(after.counts.turns).toBe(after.turns.length);
    const gone = before.sessions.filter(({ session }) =>
      after.sessions.every((one) => one.session !== session),
    );
    for (const { state } of gone) expect(state?.isClosed ?? true).toBe(true);
  }
  // what was trimmed before it was read may have been about a kept turn
  await log.append(events(9, 60).map((event) => ({ ...event, id: `later-${event.id}` })));
  const all = { ...log, starts: log.ends };
  expect((await read(folder, all)).turns).toEqual((await read(nowhere(), all)).turns);
});

test('a log that does not answer is an error, and the index stays', async () => {
  await log.append(events(10));
  const before = await read();
  const bytes = await readFile(path());
  const away = () => Promise.reject(logError('LogUnavailable', 'away'));
  await expect(read(folder, { ...log, starts: away })).rejects.toMatchObject({ name: 'LogUnavailable' });
  expect(await readFile(path())).toEqual(bytes);
  expect(await read()).toEqual(before);
});

test('a damaged file is made anew, and one that cannot be written costs only time', async () => {
  await log.append(events(11));
  const first = await read(nowhere());
  expect(await read()).toEqual(first);
  const bytes = await readFile(path());
  const at = (n: number) => createHash('sha256').update(`damage ${n}`).digest().readUInt32LE() % bytes.length;
  for (let n = 0; n < 10; n++) {
    const damaged = Buffer.from(bytes);
    // a page of zeros, as after a lost write, or the file cut off
    if (n % 2 === 0) damaged.fill(0, at(n) & ~4095, (at(n) & ~4095) + 4096);
    await writeFile(path(), n % 2 === 0 ? damaged : damaged.subarray(0, at(n)));
    expect(await read(), `damage ${n}`).toEqual(first);
  }
  await writeFile(
    path(),
    'not a database, but text that is long enough to be taken for the header of some file'.repeat(9),
  );
  expect(await read()).toEqual(first);
  expect(await readFile(path(), 'latin1')).toMatch(/^SQLite format 3/);
});

test('a row that was changed is noticed when it is read', async () => {
  await log.append(events(12));
  const first = await read();
  const db = new DatabaseSync(path());
  db.exec(`UPDATE turns SET data = replace(data, '"live":true', '"live":false')`);
  db.close();
  expect(await read()).toEqual(first);
});

test('an index that lacks a part of its state, or has a table of another form, is made anew', async () => {
  await log.append(events(15));
  const first = await read();
  for (const change of [
    "DELETE FROM state WHERE name = 'early'",
    'ALTER TABLE turns DROP COLUMN heard',
    'DROP TABLE sessions',
  ]) {
    const db = new DatabaseSync(path());
    db.exec(change);
    db.close();
    expect(await read(), change).toEqual(first);
  }
});

test('it holds no words, and is the only file that stays', async () => {
  await log.append(events(13));
  await read();
  const text = await readFile(path(), 'latin1');
  expect(text).toContain('i-1');
  expect(text).not.toMatch(/question|hello/);
  expect((await readdir(folder)).sort()).toEqual(['log', 'turns.sqlite']);
});

test('names that are not Unicode, with a zero or a quotation mark, stay as they are', async () => {
  const names = ['\ud800', '\ud801', 'a\0b', 'a', '"', '""', '__proto__', 'ä\u{1f600}'];
  const records = names.flatMap((name, n) => {
    const about = { turnId: name, session: name, settle: 'votes', rule: 'r', next: [] };
    const data = { interactionId: name, lane: 'l', key: name, adapter: name, live: true, version: 0 };
    const words = { messages: [], answer: { role: 'assistant', content: '' }, settle: 'votes' };
    return (
      [
        ['conversations', 'session.started', { session: `started ${name}`, task: name }],
        ['conversations', 'interaction.completed', { ...data, ...words }],
        ['turns', 'turn.completed', about],
        ['turns', 'turn.skipped', { turnId: name, reason: name }],
      ] as const
    ).map(([topic, type, of], place) => {
      const event = { type, id: `${type} ${n}`, subject: 'l', time: '2026-01-01T00:00:00.000Z', data: of };
      const at = { partition: 0, offset: topic === 'turns' ? 2 * n + place - 2 : 2 * n + place };
      return { topic, record: { event, at, time: 0 } as unknown as Recorded };
    });
  });
  for (let time = 0; time < 2; time++) {
    const { turns, sessions, adapters, counts } = await read(folder, logOf(records));
    expect(turns.map(({ view }) => [view.turnId, view.session, view.adapter])).toEqual(
      names.map((name) => [name, name, name]),
    );
    expect(new Set(adapters)).toEqual(new Set(names));
    const all = [...names, ...names.map((name) => `started ${name}`)];
    expect(new Set(sessions.map(({ session }) => session))).toEqual(new Set(all));
    expect(new Set(counts.outcomes.map(([outcome]) => outcome))).toEqual(
      new Set(names.map((name) => `not trained: ${name}`)),
    );
  }
  await withTurnIndex({ log: logOf(records), folder }, (index) => {
    for (const name of names) {
      expect(index.turns({ session: name, adapters: [name] }).map(({ row }) => row.key)).toEqual([name]);
      expect(index.session(`started ${name}`)?.task).toBe(name);
    }
  });
});

test('several readers at once give the same', async () => {
  await log.append(events(14));
  const first = await read(nowhere());
  expect(await Promise.all([read(), read(), read()])).toEqual([first, first, first]);
});
