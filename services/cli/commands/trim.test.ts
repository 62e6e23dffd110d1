import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Fold } from '../../../shared/log/fold.ts';
import { readTopic } from '../../../shared/log/read-topic.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { readTrims } from '../../../shared/retention/read-trims.ts';
import { planTrim, trimLog } from '../../../shared/retention/trim-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { clawloop } from '../../../test/e2e/harness/clawloop.ts';
import { trim as trimCommand } from './trim.ts';

let folder: string;
let log: EventLog;

const started = (n: number) =>
  SessionStarted.create({
    id: `started-${n}`,
    source: 'clawloop/test',
    time: '2026-01-01T00:00:00Z',
    data: { lane: 'lane', key: 'k', session: `s${n}`, settle: 'votes' },
  });

/** A group that only reads. */
async function read(group: string, migrations: Fold['migrations'] = []): Promise<void> {
  const fold: Fold<null> = {
    name: group,
    reads: 'conversations',
    writes: 'turns',
    on: () => ({ changes: [], emit: [] }),
    migrations,
  };
  const stop = new AbortController();
  const done = log.process(fold, { group, settings: null }, stop.signal);
  const isLevel = async () => {
    const lags = await log.lag(group);
    return lags.length > 0 && lags.every(({ position, end }) => position === end);
  };
  await expect.poll(isLevel, { timeout: 20_000, interval: 10 }).toBe(true);
  stop.abort();
  await done;
}

const trim = (...flags: readonly string[]) => clawloop(['trim', ...flags, '--data-folder', folder]);
const starts = async () => (await log.starts('conversations')).filter((start) => start > 0);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-trim-'));
  log = await openSqliteLog({ folder: dataFolder(folder).log });
  for (let n = 0; n < 6; n++) await log.append([started(n)]);
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

test('a dry run shows what a trim would remove; the trim is recorded, and audit balances after it', async () => {
  await read('attribute');
  expect((await trim('--keep', '30d')).stdout).toContain('nothing to remove');
  const shown = await trim('--keep', '0s', '--dry-run');
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('would begin at') });
  expect(await starts()).toEqual([]);
  expect(await readTrims(log)).toEqual([]);

  const done = await trim('--keep', '0s');
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('begins at') });
  expect(await starts()).toEqual([5]);
  expect(await readTrims(log)).toMatchObject([
    { source: 'clawloop/cli', data: { topic: 'conversations', from: 0, to: 5, keep: '0s' } },
  ]);
  const kept: string[] = [];
  await readTopic(log, 'conversations', ({ event }) => void kept.push(event.id));
  expect(kept).toEqual(['started-5']);
  const audit = await clawloop(['audit', '--data-folder', folder]);
  expect(audit.stdout).toContain('trimmed: conversations before');
  expect(audit.stdout).toMatch(/balances$/m);
}, 60_000);

const options = () => ({ keepBytes: '', source: 'clawloop/cli' as const, now: Date.now() + 1_000 });

test('a group that has not read a record keeps it, and the plan says so', async () => {
  expect(await planTrim(log, { ...options(), keep: '0s' })).toMatchObject([
    { place: undefined, heldBy: 'attribute has read nothing yet' },
  ]);
  await read('attribute');
  await read('traces');
  for (const n of [6, 7, 8]) await log.append([started(n)]);
  await read('attribute');
  expect(await trimLog(log, { ...options(), keep: '0s' })).toMatchObject([
    { place: { offset: 6 }, heldBy: 'traces has read up to 6' },
  ]);
  expect(await starts()).toEqual([6]);
});

test('rows of a newer release may need any record: nothing is removed, and the command says so', async () => {
  await read('attribute', [() => []]);
  const refused = await trim('--keep', '0s');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/the rows of attribute for conversations\/\d have version 2.*: update it/);
  expect(await starts()).toEqual([]);
  expect(await readTrims(log)).toEqual([]);
}, 60_000);

test('a size limit keeps the newest records', async () => {
  for (let n = 6; n < 40; n++) await log.append([started(n)]);
  await read('attribute');
  await trimLog(log, { ...options(), keep: '', keepBytes: 'conversations=4kb' });
  const [start] = await starts();
  expect(start).toBeGreaterThan(5);
  expect(start).toBeLessThan(39);
});

test.each([
  [[], 'give --keep'],
  [['--keep', '90'], "not '90'"],
  [['--keep', 'training=9d'], "not 'training=9d'"],
  [['--keep-bytes', '1parsec'], "not '1parsec'"],
])('%j is refused', async (flags, why) => {
  await expect(trimCommand.run([...flags, '--data-folder', folder])).rejects.toThrow(why);
});
