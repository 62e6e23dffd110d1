import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';

const cli = fileURLToPath(new URL('../main.ts', import.meta.url));
let folder: string;
let log: EventLog;

const origin = (id: string, second: number) => ({
  id,
  source: 'clawloop/test',
  time: `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`,
});
const started = (second: number, lane: string) =>
  SessionStarted.create({
    ...origin(`started-${second}`, second),
    data: { lane, key: 'k', session: 's', settle: 'votes' },
  });
const paused = (second: number) =>
  LearningPaused.create({ ...origin(`paused-${second}`, second), data: { adapter: 'default' } });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-topics-'));
  log = await openSqliteLog({ folder: dataFolder(folder).log });
  await log.append([started(1, 'a'), paused(2), started(3, 'b'), started(4, 'c'), paused(5)]);
});
afterAll(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs `topics tail`; ids as they are printed. */
function tail(...flags: readonly string[]) {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      cli,
      'topics',
      'tail',
      '--json',
      '--data-folder',
      folder,
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const ids = () =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { readonly event: { readonly id: string } }).event.id);
  return { child, ids, code: once(child, 'close').then(([code]) => code as number | null) };
}

test('-n shows the latest records over all topics, ordered by time', async () => {
  const { ids, code } = tail('-n', '3');
  expect(await code).toBe(0);
  expect(ids()).toEqual(['started-3', 'started-4', 'paused-5']);
});

test('-n counts only records that pass the filter', async () => {
  const { ids, code } = tail('-n', '2', '--type', 'session.started');
  expect(await code).toBe(0);
  expect(ids()).toEqual(['started-3', 'started-4']);
});

test('--since is inclusive, --until exclusive', async () => {
  const { ids, code } = tail('--since', '2026-01-01T00:00:02Z', '--until', '2026-01-01T00:00:05Z');
  expect(await code).toBe(0);
  expect(ids().toSorted()).toEqual(['paused-2', 'started-3', 'started-4']);
});

test('--session shows all of a session, ordered by time', async () => {
  const { ids, code } = tail('--session', 's');
  expect(await code).toBe(0);
  expect(ids()).toEqual(['started-1', 'started-3', 'started-4']);
});

test('--session and --key combine', async () => {
  const { ids, code } = tail('--session', 's', '--key', 'b');
  expect(await code).toBe(0);
  expect(ids()).toEqual(['started-3']);
});

test('an invalid count is refused', async () => {
  expect(await tail('-n', 'many').code).toBe(2);
});

test('--follow shows new records, and Ctrl-C ends it cleanly', async () => {
  const { child, ids, code } = tail('--follow', '-n', '1');
  await expect.poll(ids, { timeout: 20_000 }).toEqual(['paused-5']);
  await log.append([started(6, 'a')]);
  await expect.poll(ids, { timeout: 20_000 }).toEqual(['paused-5', 'started-6']);
  child.kill('SIGINT');
  expect(await code).toBe(0);
});
