import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { SessionClosed } from '../../shared/events/session-closed.ts';
import { SessionOpened } from '../../shared/events/session-opened.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import { followLog } from './follow-log.ts';
import { openStoredModel } from './stored-model.ts';
import { allIds } from './testing/all-turns.ts';
import { chat } from './testing/chat.ts';
import { watchTrims } from './watch-trims.ts';

const patience = { timeout: 20_000, interval: 10 };
const about = { source: 'clawloop/test', time: '2026-01-01T00:00:00Z' };

/** A turn of a session, with what the collector says about both. */
const turnOf = (id: string, session: string): readonly ClawLoopEvent[] => [
  chat(id, 'lane'),
  SessionOpened.create({
    ...about,
    id: `${session}/opened`,
    data: { lane: 'lane', key: 'key', session, epoch: `${session}/1` },
  }),
  TurnSkipped.create({
    ...about,
    id: `${id}/skipped`,
    data: { turnId: id, lane: 'lane', session, rule: 'side', reason: 'side', by: id },
  }),
];
const closed = (session: string): ClawLoopEvent =>
  SessionClosed.create({
    ...about,
    id: `${session}/closed`,
    data: { lane: 'lane', key: 'key', session, epoch: `${session}/1`, by: 'end' },
  });

async function openConsole(log: EventLog, snapshots: string) {
  const stop = new AbortController();
  const { model, from, keep } = await openStoredModel({ log, folder: snapshots, onFailure: () => {} });
  const reader = followLog({
    log,
    from,
    onRecord: model.on,
    onRound: () => {},
    refreshMs: 5,
    signal: stop.signal,
  });
  const kept = keep(reader);
  const trims = watchTrims({
    log,
    signal: stop.signal,
    onStarts: model.trim,
    onFailure: () => {},
    lookMs: 5,
  });
  await expect.poll(reader.isCaughtUp, patience).toBe(true);
  return {
    model,
    trims,
    turns: () => allIds(model.turns),
    sessions: () => ['ended', 'goes-on', 'next'].filter((name) => model.session(name) !== undefined),
    end: async () => {
      await kept.close();
      stop.abort();
      await Promise.all([reader.done, trims.done]);
    },
  };
}

test('a console that is open during a trim forgets what was removed, and stays so after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-trims-'));
  const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
  const stop = new AbortController();
  const groups = [
    ['attribute', 'conversations', 'turns'],
    ['judge', 'turns', 'turns'],
    ['assemble', 'turns', 'training'],
  ] as const;
  const folds = groups.map(([group, reads, writes]) =>
    log.process(
      { name: group, reads, writes, on: () => ({ changes: [], emit: [] }) },
      { group, settings: null },
      stop.signal,
    ),
  );
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(folds);
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  const isLevel = async (): Promise<boolean> =>
    (await Promise.all(groups.map(([group]) => log.lag(group)))).every(
      (shares) => shares.length > 0 && shares.every(({ position, end }) => position === end),
    );
  const snapshots = join(folder, 'snapshots');
  const console = await openConsole(log, snapshots);
  await log.append([...turnOf('gone', 'ended'), closed('ended')]);
  await log.append(turnOf('gone-too', 'goes-on'));
  await log.append(turnOf('kept', 'goes-on'));
  await expect.poll(console.turns, patience).toEqual(['gone', 'gone-too', 'kept']);
  expect(console.sessions()).toEqual(['ended', 'goes-on']);
  await expect.poll(isLevel, patience).toBe(true);
  const before = console.model.revision();

  await trimLog(log, { keep: '0s', keepBytes: '', source: 'clawloop/cli', now: Date.now() + 1_000 });
  await expect.poll(console.turns, patience).toEqual(['kept']);
  expect(console.sessions()).toEqual(['goes-on']);
  expect(console.model.revision()).toBeGreaterThan(before);
  expect(console.model.turns.takeChanged()).toContain('gone');
  expect(console.model.turns.turn('gone')).toBeUndefined();
  // a record about a removed turn changes nothing
  await log.append([closed('goes-on'), ...turnOf('later', 'next')]);
  await expect.poll(console.turns, patience).toEqual(['kept', 'later']);
  await console.end();

  const stored = await openConsole(log, snapshots);
  expect(stored.turns()).toEqual(['kept', 'later']);
  expect(stored.sessions()).toEqual(['goes-on', 'next']);
  await stored.end();
  const fresh = await openConsole(log, join(folder, 'none'));
  expect(fresh.turns()).toEqual(['kept', 'later']);
  expect(fresh.sessions()).toEqual(['goes-on', 'next']);
  await fresh.end();
});
