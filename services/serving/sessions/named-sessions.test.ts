import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionClosed } from '../../../shared/events/session-closed.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionOpened } from '../../../shared/events/session-opened.ts';
import { logError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { createAnswerIds } from '../answer/answer-ids.ts';
import { interactionCompleted } from '../answer/interaction.ts';
import { laneOf } from './lane.ts';
import { followNamedSessions } from './named-sessions.ts';
import { followSessions } from './session-view.ts';

let folder: string;
let log: EventLog;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-named-'));
  log = await openSqliteLog({ folder });
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true });
});

const ids = createAnswerIds(Buffer.alloc(32, 1));

type Options = Parameters<typeof followNamedSessions>[0];
/** Follows the log as serving does. */
function follow(options: Partial<Options> = {}) {
  const sessions = followNamedSessions({
    log,
    signal: stop.signal,
    ids,
    outboxDepth: () => 0,
    reachEnd: () => view.reachEnd(),
    ...options,
  });
  const view = followSessions({ log, signal: stop.signal, onHeading: sessions.note });
  return sessions;
}

const about = (id: string) => ({ id, source: 'clawloop/test', time: '2026-03-01T12:00:00.000Z' });
const answered = (id: string, lane: string) =>
  interactionCompleted(
    {
      interactionId: id,
      requestId: 'req',
      api: 'chat',
      lane,
      key: 'ann',
      adapter: 'default',
      live: true,
      settle: 'votes',
      model: 'm',
      engine: 'local',
      version: 0,
      disconnected: false,
      messages: [{ role: 'user', content: 'hi' }],
      answer: { role: 'assistant', content: 'hello' },
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 5 },
      tokens: null,
      finishReason: 'stop',
      timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 1 },
      usage: { promptTokens: 1, completionTokens: 1 },
    },
    undefined,
    1e6,
  );
const ended = (session: string, lane: string) =>
  SessionEnded.create({
    ...about(`${session}/ended`),
    data: { lane, key: 'ann', session, reason: 'explicit' },
  });
const opened = (session: string, lane: string, epoch: string, key = 'ann') =>
  SessionOpened.create({ ...about(`${session}@${epoch}/opened`), data: { lane, key, session, epoch } });
const closed = (session: string, lane: string, epoch: string) =>
  SessionClosed.create({
    ...about(`${session}@${epoch}/closed`),
    data: { lane, key: 'ann', session, epoch, by: 'end' },
  });

test('a session named by its client is open from its first answer to its end', async () => {
  const sessions = follow();
  const lane = laneOf('ann', 'mine');
  expect(await sessions.lanesOf('ann', 'mine')).toEqual([]);
  await log.append([answered('a', lane)]);
  expect(await sessions.lanesOf('ann', 'mine')).toEqual([lane]);
  expect(await sessions.lanesOf('bob', 'mine')).toEqual([]);
  await log.append([ended('mine', lane)]);
  expect(await sessions.lanesOf('ann', 'mine')).toEqual([]);
  await log.append([answered('b', lane)]);
  expect(await sessions.lanesOf('ann', 'mine')).toEqual([lane]);
});

test('a session found by content is open while the collector says so, for its own key', async () => {
  const sessions = follow();
  const lane = laneOf('ann', undefined);
  await log.append([answered('a', lane), opened('chat-a', lane, 'a')]);
  expect(await sessions.lanesOf('ann', 'chat-a')).toEqual([lane]);
  expect(await sessions.lanesOf('bob', 'chat-a')).toEqual([]);
  await log.append([closed('chat-a', lane, 'a')]);
  expect(await sessions.lanesOf('ann', 'chat-a')).toEqual([]);
  await log.append([opened('chat-a', lane, 'b'), closed('chat-a', lane, 'a')]); // a copy of the first end
  expect(await sessions.lanesOf('ann', 'chat-a')).toEqual([lane]);
});

test('two sessions in different lanes may have the same name', async () => {
  const sessions = follow();
  const [own, shared] = [laneOf('ann', 'both'), laneOf('ann', undefined)];
  await log.append([answered('a', own), opened('both', own, 'a'), opened('both', shared, 'b')]);
  expect(await sessions.lanesOf('ann', 'both')).toEqual([own, shared]);
});

test('a session is closed when its end is recorded, before the end is in the log', async () => {
  const sessions = follow();
  const [own, shared] = [laneOf('ann', 'both'), laneOf('ann', undefined)];
  await log.append([answered('a', own), opened('both', shared, 'b')]);
  expect(await sessions.lanesOf('ann', 'both')).toHaveLength(2);
  sessions.ended('ann', 'both');
  expect(await sessions.lanesOf('ann', 'both')).toEqual([]);
});

test('while events wait for the log, a session may be open in the lane of its first answer', async () => {
  const sessions = follow({ outboxDepth: () => 1 });
  const lane = laneOf('ann', undefined, 'other');
  const name = `chat-${ids.make('ann', lane, 'chat')}`;
  expect(await sessions.lanesOf('ann', name)).toEqual([lane]);
  expect(await sessions.lanesOf('bob', name)).toEqual([laneOf('bob', name)]);
  expect(await sessions.lanesOf('ann', 'mine')).toEqual([laneOf('ann', 'mine')]);
});

test('the same holds if the log is unreadable or written by a newer version', async () => {
  const away = follow({ reachEnd: async () => false });
  expect(await away.lanesOf('ann', 'mine')).toEqual([laneOf('ann', 'mine')]);
  const error = logError('NewerSchema', 'session.opened 2');
  const newer = follow({
    log: {
      follow: () => ({
        caughtUp: Promise.reject(error),
        reachEnd: () => Promise.reject(error),
        position: () => [0],
        done: Promise.reject(error),
      }),
    },
  });
  await newer.done;
  expect(await newer.lanesOf('ann', 'mine')).toEqual([laneOf('ann', 'mine')]);
});

test('the quietest lanes are forgotten if there are too many', async () => {
  const sessions = follow({ most: 2 });
  const names = ['one', 'two', 'three'];
  await log.append(names.map((name) => answered(name, laneOf('ann', name))));
  await log.append([answered('again', laneOf('ann', 'two')), answered('four', laneOf('ann', 'four'))]);
  const open = await Promise.all([...names, 'four'].map((name) => sessions.lanesOf('ann', name)));
  expect(open.map((lanes) => lanes.length)).toEqual([0, 1, 0, 1]);
});
