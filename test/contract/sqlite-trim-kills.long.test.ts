import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyChains } from '../../services/cli/audit/verify-chains.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import type { Child } from './event-log-child.ts';
import { ledger, readTopic, startedMany, untilLevel } from './event-log-fixtures.ts';
import { sqliteHarness, startSteppedChild } from './sqlite-event-log-harness.ts';

const topic = 'conversations';
const RECORDS = 900;
let harness: Awaited<ReturnType<typeof sqliteHarness>>;
let child: Child | undefined;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(async () => {
  await child?.kill();
  await harness.dispose();
});

/** A log that the group has read. */
async function filled(): Promise<EventLog> {
  const log = await harness.open();
  for (let n = 0; n < RECORDS; n += 10) await log.append(startedMany(10, 5, n));
  const stop = new AbortController();
  const done = log.process(ledger, { group: 'attribute', settings: { label: 'one' } }, stop.signal);
  await untilLevel(log, 'attribute');
  stop.abort();
  await done;
  return log;
}

const trimmer = () => startSteppedChild(harness, { kind: 'trim' });

/** Rows of the table, also those that readers no longer see, and pages that hold nothing. */
function stored(): { readonly rows: number; readonly free: number } {
  const db = new DatabaseSync(join(harness.folder, 'log.sqlite'), { readOnly: true });
  const id = Number(db.prepare('SELECT id FROM topics WHERE name = ?').get(topic)!.id);
  const { rows } = db
    .prepare('SELECT count(*) AS rows FROM records WHERE k >= ? AND k < ?')
    .get(id * 256 * 2 ** 40, (id + 1) * 256 * 2 ** 40)!;
  const { free } = db.prepare('SELECT freelist_count AS free FROM pragma_freelist_count()').get()!;
  db.close();
  return { rows: Number(rows), free: Number(free) };
}

test.each([
  ['before the first cut is committed', 'cut', 'old'],
  ['while the rows of the first cut are removed', 'remove', 'new'],
])('SIGKILL %s (%s): readers see the %s start, and a later trim goes on', async (_, step, start) => {
  const log = await filled();
  const ends = await log.ends(topic);
  const file = join(harness.folder, `SIGKILL-at-${step}`);
  writeFileSync(file, '');
  child = trimmer();
  expect(await child.exited).toBe('SIGKILL');
  expect(existsSync(file)).toBe(false);

  const starts = await log.starts(topic);
  if (start === 'old') expect(starts.every((offset) => offset === 0)).toBe(true);
  else expect(starts.some((offset) => offset > 0)).toBe(true);
  expect((await verifyChains(log)).broken).toEqual([]);
  expect(await readTopic(log, topic)).toHaveLength(sum(ends) - sum(starts));

  await trimLog(log, { keep: '0s', keepBytes: '', source: 'clawloop/test', now: Date.now() + 60_000 });
  const after = await log.starts(topic);
  expect(after.every((offset, partition) => offset >= starts[partition]!)).toBe(true);
  expect(sum(after)).toBeGreaterThan(RECORDS / 2);
  expect((await verifyChains(log)).broken).toEqual([]);
  expect(stored()).toEqual({ rows: sum(ends) - sum(after), free: 0 });
});
