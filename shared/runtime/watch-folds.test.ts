import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionStarted } from '../events/session-started.ts';
import { logError } from '../log/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Fold } from '../log/fold.ts';
import { openSqliteLog } from '../log/sqlite/open-sqlite-log.ts';
import { createLogger } from './logger.ts';
import { createFoldMetrics, watchFolds } from './watch-folds.ts';

let folder: string;
let log: EventLog;
const stop = new AbortController();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-watch-'));
  log = await openSqliteLog({ folder });
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const started = (n: number) =>
  SessionStarted.create({
    id: `session-${n}`,
    source: 'test',
    time: '2026-01-01T00:00:00Z',
    data: { lane: `lane-${n % 4}`, key: 'key', session: `session-${n}`, settle: 'votes' },
  });
const silent: Fold<null> = {
  name: 'silent',
  reads: 'conversations',
  writes: 'turns',
  on: () => ({ changes: [], emit: [] }),
};

test('unread records count as lag, also before the first read', async () => {
  const metrics = createFoldMetrics(new Registry());
  let away = false;
  let troubles: readonly string[] = [];
  const watched: Pick<EventLog, 'lag' | 'ends' | 'troubles'> = {
    troubles: () => troubles,
    ends: log.ends,
    lag: (group) => (away ? Promise.reject(logError('LogUnavailable', 'away')) : log.lag(group)),
  };
  const watch = watchFolds({
    log: watched,
    place: 'the log',
    metrics,
    logger: createLogger('test', 'silent'),
    signal: stop.signal,
    folds: [{ group: 'silent', reads: 'conversations' }],
    lookMs: 20,
  });
  expect(watch.missing()).toBe('the log has not been checked yet');
  const patience = { timeout: 20_000 };
  const lag = async () => (await metrics.lag.get()).values[0]?.value;
  await log.append([1, 2, 3, 4, 5].map(started));
  await expect.poll(lag, patience).toBe(5);
  expect(watch.missing()).toBeUndefined();
  const done = log.process(silent, { group: 'silent', settings: null }, stop.signal);
  await expect.poll(lag, patience).toBe(0);
  away = true;
  await expect.poll(watch.missing, patience).toMatch(/^the log has not answered for \d+ s$/);
  away = false;
  await expect.poll(watch.missing, patience).toBeUndefined();
  troubles = ['conversations/1: no right'];
  expect(watch.missing()).toBe('a fold cannot continue: silent, conversations/1: no right');
  troubles = [];
  expect(watch.missing()).toBeUndefined();
  stop.abort();
  await done;
});
