import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditLog } from '../../services/cli/audit/audit-log.ts';
import type { Audited } from '../../services/cli/audit/audited.ts';
import { auditRecords } from '../../services/cli/audit/testing/facts.ts';
import { verifyChains } from '../../services/cli/audit/verify-chains.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { clawloop } from '../e2e/harness/clawloop.ts';
import { readLog, recordLog } from './recorded-log.ts';
import { doubles, edits, reachesTraining, removals, swaps, type Tampering } from './tampering.ts';

// How much of what can be done to a log the audit notices. Prints a table.

const DAY_MS = 24 * 3_600_000;
let folder: string;
let log: readonly Audited[];
const table: Record<string, { readonly of: number; readonly noticed: number }> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-tampering-'));
  await recordLog(folder);
  log = (await readLog(folder)).filter(({ topic }) => topic !== 'dead-letters');
});
afterAll(async () => {
  console.table(table);
  await rm(folder, { recursive: true, force: true });
});

/** By the contents alone: offsets and chain are not looked at. @returns what the audit did not notice */
function unnoticed(name: string, tamperings: Iterable<Tampering>): readonly string[] {
  let of = 0;
  const missed: string[] = [];
  for (const { type, field, record, log: tampered } of tamperings) {
    of += 1;
    if (auditRecords(tampered).broken.length === 0) missed.push(`${type} ${field} ${record.event.id}`);
  }
  table[name] = { of, noticed: of - missed.length };
  return missed;
}

const share = (name: string) => table[name]!.noticed / table[name]!.of;

test('the log as it was recorded balances', async () => {
  const { code, stdout } = await clawloop(['audit', '--data-folder', folder]);
  expect([code, stdout.trim().split('\n').at(-1)]).toEqual([0, 'balances']);
  expect(log.length).toBeGreaterThan(200);
  expect(log.filter(({ event }) => event.type === 'policy.promoted').length).toBeGreaterThan(2);
});

test('a rebuild of the log as it was recorded gives the same facts and rows', async () => {
  const { code, stdout, stderr } = await clawloop(['audit', '--deep', '--data-folder', folder]);
  expect([code, stdout.trim().split('\n').at(-1)], stdout + stderr).toEqual([
    0,
    'a rebuild gives the same events and rows',
  ]);
  for (const group of ['attribute', 'assemble', 'submit', 'judge', 'trainer'])
    expect(stdout).toMatch(new RegExp(`${group}: [1-9]`));
});

test('of every record that is removed from the file at least 99 of 100 are noticed', async () => {
  const file = join(folder, 'log', 'log.sqlite');
  const open = await openSqliteLog({ folder: join(folder, 'log') });
  const db = new DatabaseSync(file, { timeout: 10_000 });
  const missed: string[] = [];
  try {
    for (const { topic, at, event } of log) {
      const { id } = db.prepare('SELECT id FROM topics WHERE name = ?').get(topic) as { readonly id: number };
      const key = (id * 256 + at.partition) * 2 ** 40 + at.offset;
      const row = db.prepare('SELECT * FROM records WHERE k = ?').get(key)!;
      db.prepare('DELETE FROM records WHERE k = ?').run(key);
      if ((await auditLog(open, DAY_MS)).broken.length === 0) missed.push(`${event.type} ${event.id}`);
      const names = Object.keys(row);
      const places = names.map(() => '?').join(', ');
      db.prepare(`INSERT INTO records (${names.join(', ')}) VALUES (${places})`).run(
        ...names.map((name) => row[name] ?? null),
      );
    }
    expect((await auditLog(open, DAY_MS)).broken).toEqual([]);
  } finally {
    db.close();
    await open.close();
  }
  table['removed from the file'] = { of: log.length, noticed: log.length - missed.length };
  expect(missed.length / log.length, missed.join('\n')).toBeLessThanOrEqual(0.01);
});

test('every record that is changed in the file breaks the chain', async () => {
  const open = await openSqliteLog({ folder: join(folder, 'log') });
  const db = new DatabaseSync(join(folder, 'log', 'log.sqlite'), { timeout: 10_000 });
  const missed: string[] = [];
  try {
    for (const { topic, at, event } of log) {
      const { id } = db.prepare('SELECT id FROM topics WHERE name = ?').get(topic) as { readonly id: number };
      const key = (id * 256 + at.partition) * 2 ** 40 + at.offset;
      db.prepare('UPDATE records SET time = time + 1 WHERE k = ?').run(key);
      if ((await verifyChains(open)).broken.length === 0) missed.push(`${event.type} ${event.id}`);
      db.prepare('UPDATE records SET time = time - 1 WHERE k = ?').run(key);
    }
    expect((await verifyChains(open)).broken).toEqual([]);
  } finally {
    db.close();
    await open.close();
  }
  table['changed in the file, by the chain'] = { of: log.length, noticed: log.length - missed.length };
  expect(missed).toEqual([]);
});

test('of nineteen of twenty removed records the others tell that they are missing', () => {
  // how often serving loads a version depends on its starts, so no other record tells
  const others = [...removals(log)].filter(({ type }) => type !== 'policy.loaded');
  const missed = unnoticed('removed, by contents', others);
  expect(share('removed, by contents'), missed.join('\n')).toBeGreaterThan(0.95);
});

test('every edit of what reaches training is noticed by the contents', () => {
  const trained = new Set(
    log.flatMap(({ event }) =>
      event.type === 'batch.submitted' ? event.data.samples.map(({ sampleId }) => sampleId) : [],
    ),
  );
  const all = [...edits(log)];
  // a step that the gate refused is the parent of none, and nobody is served its weights
  const refused = new Set(
    log.flatMap(({ event }) => (event.type === 'policy.rejected' ? [event.data.batchId] : [])),
  );
  const isRefused = ({ record: { event } }: Tampering) =>
    event.type === 'policy.trained' && refused.has(event.data.batchId);
  const isTraining = (edit: Tampering) => reachesTraining(edit, trained) && !isRefused(edit);
  const missed = unnoticed('edited, reaches training, by contents', all.filter(isTraining));
  unnoticed(
    'edited, every sixteenth of the others, by contents',
    all.filter((edit) => !isTraining(edit)).filter((_, index) => index % 16 === 0),
  );
  expect(missed).toEqual([]);
});

test('a fact that a fold decided never stands twice', () => {
  const decided = doubles(log).filter(({ record: { event } }) =>
    ['collector', 'judgment.reached'].some((name) => event.source.endsWith(name) || event.type === name),
  );
  const appended = ['session.ended', 'lane.forgotten', 'batch.requested'];
  const missed = unnoticed(
    'doubled, decided by a fold',
    decided.filter(({ type }) => !appended.includes(type)),
  );
  expect(missed).toEqual([]);
  unnoticed('swapped with its neighbour, by contents', swaps(log));
});
