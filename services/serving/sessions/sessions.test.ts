import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { laneOf } from './lane.ts';
import type { Session } from './session-row.ts';
import { followSessions } from './session-view.ts';
import { openSessions } from './sessions.ts';
import { countWaitingSamples } from './waiting-samples.ts';

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

test('only its own key ends a session, even if another name has the same lane', async () => {
  const open = {
    session: 'hers',
    keyId: 'ann',
    lane: laneOf('bob', 'his'),
    sessionKey: 'k',
    ended: undefined,
  };
  const view = { ...followSessions({ log, signal: stop.signal }), inLane: () => open as unknown as Session };
  const recorded: unknown[] = [];
  const sessions = openSessions({
    view,
    recorder: { record: async (event) => recorded.push(event) > 0, outboxDepth: () => 0 },
    append: log.append,
    limits: { maxSessions: 10, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 },
    samplesOf: () => countWaitingSamples('bob'),
    countOn: async () => {},
    votes: { of: async () => () => ({ votes: 'none', score: 0 }) },
    now: Date.now,
  });
  for (const [key, name] of [
    ['bob', 'his'],
    ['bob', 'hers'],
    ['ann', 'his'],
  ] as const) {
    expect(await sessions.isOpen(key, name)).toBe(false);
    await expect(sessions.endNamed(key, name, false)).rejects.toMatchObject({ name: 'SESSION_NOT_FOUND' });
  }
  expect(await sessions.isOpen('ann', 'hers')).toBe(true);
  expect(recorded).toEqual([]);
});

test('a key has its own places and room, regardless of other keys', async () => {
  const view = followSessions({ log, signal: stop.signal });
  await view.reachEnd();
  const samples = countWaitingSamples('default');
  const sessions = openSessions({
    view,
    recorder: { record: async () => true, outboxDepth: () => 0 },
    append: log.append,
    limits: { maxSessions: 4, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 },
    samplesOf: () => samples,
    countOn: async () => {},
    votes: { of: async () => () => ({ votes: 'none', score: 0 }) },
    now: Date.now,
  });
  const start = (keyId: string, adapter = 'default') =>
    sessions.start({ keyId, adapter, adapters: ['default', 'other'] }, 'cook', undefined).then(
      () => 'open',
      ({ name }: Error) => name,
    );
  const many = async (keyId: string, count: number) => {
    const started = await Promise.all(Array.from({ length: count }, () => start(keyId)));
    return Object.entries(Object.groupBy(started, (one) => one)).map(([how, all]) => [how, all!.length]);
  };
  expect(await many('ann', 10)).toEqual([
    ['open', 4],
    ['TOO_MANY_SESSIONS', 6],
  ]);
  expect(await start('ann', 'other')).toBe('TOO_MANY_SESSIONS');
  // a session usually makes a version here, and five may be under way
  expect(await many('bob', 10)).toEqual([
    ['open', 3],
    ['TRAINING_BEHIND', 7],
  ]);
  expect(await many('eve', 10)).toEqual([
    ['open', 2],
    ['TRAINING_BEHIND', 8],
  ]);
});

const facts = { source: 'clawloop/test', time: '2026-03-01T12:00:00.000Z' };

test('a refreshed session inherits task and adapter, even from a forgotten session', async () => {
  const all = Array.from({ length: 1_100 }, (_, n) => {
    const data = { lane: laneOf('ann', `s-${n}`), key: 'ann', session: `s-${n}` };
    return [
      SessionStarted.create({
        ...facts,
        id: `s-${n}/started`,
        data: { ...data, settle: 'reward', sessionKey: `k-${n}`, task: 'cook', adapter: 'bob' },
      }),
      SessionEnded.create({ ...facts, id: `s-${n}/ended`, data: { ...data, reason: 'explicit' } }),
    ];
  });
  await log.append(all.flat());
  const view = followSessions({ log, signal: stop.signal });
  const samples = countWaitingSamples('bob');
  const sessions = openSessions({
    view,
    recorder: { record: async () => true, outboxDepth: () => 0 },
    append: log.append,
    limits: { maxSessions: 10, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 },
    samplesOf: () => samples,
    countOn: async () => {},
    votes: { of: async () => () => ({ votes: 'none', score: 0 }) },
    now: Date.now,
  });
  await view.reachEnd();
  const keys = Array.from({ length: 1_100 }, (_, n) => `k-${n}`);
  const forgotten = keys.filter((id) => view.of(id) === undefined);
  const known = keys.filter((id) => view.of(id) !== undefined);
  const caller = { keyId: 'ann', adapters: ['alice', 'bob'] };
  for (const [first, second] of [forgotten, known])
    for (const [id, task] of [[first!, undefined] as const, [second!, 'chess'] as const]) {
      const { session } = await sessions.start(caller, task, { id, keyId: 'ann' });
      expect(view.of(id)).toMatchObject({ session, task: task ?? 'cook', adapter: 'bob' });
    }
});
