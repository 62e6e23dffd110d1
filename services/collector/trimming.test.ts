import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { logError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { readTrims } from '../../shared/retention/read-trims.ts';
import { trimRepeatedly } from './trimming.ts';

let folder: string;
let log: EventLog;
let stop: AbortController;
/** What runs until the end of the test. */
let works: Promise<unknown>[];
type Line = { readonly text: string; readonly reason?: string; readonly to?: number; readonly err?: Error };
let lines: Line[];

const patience = { timeout: 20_000, interval: 10 };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-trimming-'));
  log = await openSqliteLog({ folder, partitions: 1 });
  stop = new AbortController();
  [works, lines] = [[], []];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(works);
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const append = async (...numbers: readonly number[]): Promise<void> => {
  for (const n of numbers)
    await log.append([
      SessionStarted.create({
        id: `started-${n}`,
        source: 'clawloop/test',
        time: '2026-01-01T00:00:00Z',
        data: { lane: 'lane', key: 'k', session: `s${n}`, settle: 'votes' },
      }),
    ]);
};
/** A group that only reads; returns a function that ends it once it has read everything. */
function startGroup(group: string): () => Promise<void> {
  const on = () => ({ changes: [], emit: [] });
  const fold: Fold<null> = { name: group, reads: 'conversations', writes: 'turns', on };
  const leave = new AbortController();
  const signal = AbortSignal.any([stop.signal, leave.signal]);
  const done = log.process(fold, { group, settings: null }, signal);
  works.push(done);
  return async () => {
    const isLevel = async () =>
      (await log.lag(group)).every(({ position, end }) => position === end && end > 0);
    await expect.poll(isLevel, patience).toBe(true);
    leave.abort();
    await done;
  };
}
function startTrimming(on: EventLog = log, trimMs = 20): void {
  const note = (fields: object, text: string) => void lines.push({ ...fields, text });
  const trimming = { keep: 'conversations=0s', keepBytes: '', trimMs };
  works.push(
    trimRepeatedly({ ...trimming, log: on, logger: { info: note, warn: note }, signal: stop.signal }),
  );
}
const start = async () => (await log.starts('conversations'))[0];
const said = (text: string) => lines.filter((line) => line.text === text);

test('records that nothing needs go, again and again, and each trim is recorded and told', async () => {
  startGroup('attribute');
  await append(0, 1, 2);
  startTrimming();
  await expect.poll(start, patience).toBe(2);
  await append(3, 4);
  await expect.poll(start, patience).toBe(4);
  await expect.poll(() => said('removed old records').at(-1), patience).toMatchObject({ to: 4 });
  const trims = await readTrims(log);
  expect(trims.at(-1)).toMatchObject({
    source: 'clawloop/collector',
    data: { topic: 'conversations', to: 4, keep: 'conversations=0s' },
  });
});

test('what a group has not read stays, and the log names the group', async () => {
  const leave = startGroup('exports');
  startGroup('attribute');
  await append(0, 1, 2);
  await leave();
  await append(3, 4, 5);
  startTrimming();
  await expect.poll(start, patience).toBe(3);
  const isHeld = () => said('older records than the limit are still needed').at(-1)?.reason;
  await expect.poll(isHeld, patience).toBe('exports has read up to 3');
  expect(await start()).toBe(3);
});

test('a log that does not answer is told, and a later trim succeeds', async () => {
  startGroup('attribute');
  await append(0, 1, 2);
  let isAway = true;
  const starts: EventLog['starts'] = async (topic) => {
    if (isAway) throw logError('LogUnavailable', 'the log is away');
    return log.starts(topic);
  };
  startTrimming({ ...log, starts });
  await expect
    .poll(() => said('could not remove old records; will retry').length, patience)
    .toBeGreaterThan(1);
  expect(lines[0]!.err).toMatchObject({ message: 'the log is away' });
  expect(await start()).toBe(0);
  isAway = false;
  await expect.poll(start, patience).toBe(2);
});

test('it ends with the service, also in the middle of a wait', async () => {
  startTrimming(log, 3_600_000);
  stop.abort();
  await Promise.all(works);
  expect(lines).toEqual([]);
});
