import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import { logError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { followSessions } from './session-view.ts';

let folder: string;
let log: EventLog;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-sessions-'));
  log = await openSqliteLog({ folder });
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true });
});

const time = '2026-03-01T12:00:00.000Z';
const source = 'clawloop/test';
const place = (n: number) => ({ lane: `lane-${n}`, key: 'ann', session: `s-${n}` });
const started = (n: number) =>
  SessionStarted.create({
    id: `s-${n}/started`,
    source,
    time,
    data: { ...place(n), settle: 'reward', sessionKey: `k-${n}` },
  });
const ended = (n: number) =>
  SessionEnded.create({
    id: `s-${n}/ended`,
    source,
    time,
    data: { ...place(n), reason: 'explicit', interactions: n },
  });

test('a session that ended too long ago is looked up in the log', async () => {
  const all = Array.from({ length: 1_200 }, (_, n) => n);
  await log.append([...all.map(started), ...all.slice(0, -1).map(ended)]);
  const view = followSessions({ log, signal: stop.signal });
  expect(await view.reachEnd()).toBe(true);
  expect(view.isCaughtUp()).toBe(true);
  expect(view.openCount()).toBe(1);
  expect(view.list('ann')).toHaveLength(1_001);
  const forgotten = all.filter((n) => view.of(`k-${n}`) === undefined);
  expect(forgotten).toHaveLength(199);
  for (const n of forgotten.slice(0, 3))
    expect(await view.lookUp(`k-${n}`)).toMatchObject({ session: `s-${n}`, interactions: n });
  expect(await view.lookUp('k-none')).toBeUndefined();
});

const brokenLog = (following: Partial<ReturnType<EventLog['follow']>>): EventLog => ({
  ...log,
  follow: () => ({
    caughtUp: Promise.resolve(),
    reachEnd: async () => {},
    position: () => [0],
    done: new Promise(() => {}),
    ...following,
  }),
});

test('while the log is unavailable, only the first request waits long for its end', async () => {
  let isAway = true;
  const view = followSessions({
    log: brokenLog({ reachEnd: () => (isAway ? new Promise(() => {}) : Promise.resolve()) }),
    signal: stop.signal,
  });
  expect(await view.reachEnd()).toBe(false);
  const before = performance.now();
  for (let n = 0; n < 5; n++) expect(await view.reachEnd()).toBe(false);
  expect(performance.now() - before).toBeLessThan(6_000);
  isAway = false;
  expect(await view.reachEnd()).toBe(true);
});

test('a record of a newer version stops the view, not the service', async () => {
  const view = followSessions({
    log: brokenLog({ done: Promise.reject(logError('NewerSchema', 'session.started is version 9')) }),
    signal: stop.signal,
  });
  await expect.poll(() => view.stopped()).toBe('session.started is version 9');
  stop.abort();
  await expect(view.done).resolves.toBeUndefined();
});
