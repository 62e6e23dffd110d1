import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../../../shared/events/interaction-completed.ts';
import { ResponseDeleted } from '../../../../shared/events/response-deleted.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { logError } from '../../../../shared/log/errors.ts';
import type { EventLog } from '../../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../../shared/log/sqlite/open-sqlite-log.ts';
import { createAnswerIds } from '../../answer/answer-ids.ts';
import { interactionCompleted } from '../../answer/interaction.ts';
import { REPEATABLE_MS } from '../../answer/recorded-answers.ts';
import { followSessions } from '../../sessions/session-view.ts';
import { instructionsMessage } from './chat-messages.ts';
import { type Conversations, openConversations } from './conversations.ts';
import { createLanePlaces } from './lane-places.ts';
import { conversationOf, storedResponseOf } from './stored-response.ts';

let folder: string;
let log: EventLog;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-conversations-'));
  log = await openSqliteLog({ folder, partitions: 2 });
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const lane = '0123456789ab';
const ids = createAnswerIds(Buffer.alloc(32, 1));
const newId = (api: 'chat' | 'responses' = 'responses') => ids.make('ann', lane, api);

type Options = Parameters<typeof openConversations>[0];
/** Follows the log as serving does. */
const opened = (options: Partial<Options> = {}, most?: number): Conversations => {
  const places = createLanePlaces({ most });
  const conversations = openConversations({
    log,
    ids,
    places,
    reachEnd: () => view.reachEnd(),
    isCaughtUp: () => view.isCaughtUp(),
    ...options,
  });
  const view = followSessions({
    log,
    signal: stop.signal,
    onDeleted: conversations.forget,
    onHeading: places.note,
  });
  return conversations;
};
const user = { role: 'user', content: 'hi' } as const;
const answer = { role: 'assistant', content: 'hello' } as const;
const fact = (interactionId: string, maxRecordBytes = 1e6, more: object = {}) =>
  interactionCompleted(
    {
      interactionId,
      requestId: 'req',
      api: 'responses',
      lane,
      key: 'ann',
      adapter: 'default',
      live: true,
      settle: 'votes',
      model: 'm',
      engine: 'local',
      version: 0,
      disconnected: false,
      ...more,
      messages: [instructionsMessage('Be brief.'), user],
      answer,
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 5 },
      tokens: null,
      finishReason: 'stop',
      timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 1 },
      usage: { promptTokens: 1, completionTokens: 1 },
    } satisfies InteractionCompleted['data'],
    undefined,
    maxRecordBytes,
  );

const stored = storedResponseOf(fact('resp').data)!;

const finder =
  ({ find }: Conversations) =>
  async (id: string, keyId: string) => {
    const stored = (await find([id], keyId)).get(id);
    return stored && conversationOf(stored);
  };

test('a response that is not cached is found in the log, by its own key', async () => {
  const [id, other, large] = [1, 2, 3].map(() => newId()) as [string, string, string];
  await log.append([fact(id), fact(large, 10)]);
  const conversations = opened();
  const find = finder(conversations);
  expect(await Promise.all([find(id, 'ann'), find(id, 'bob')])).toEqual([[user, answer], undefined]);
  for (const lost of [other, large, 'resp_1', '']) expect(await find(lost, 'ann'), lost).toBeUndefined();
});

test('several responses are found at once, cached or not', async () => {
  const made = [1, 2, 3, 4].map(() => newId());
  const [remembered, old, older, lost] = made as [string, string, string, string];
  await log.append([fact(older), fact(old)]);
  const conversations = opened();
  conversations.remember(remembered, stored);
  const found = await conversations.find([remembered, old, older, lost, old], 'ann');
  expect([...found.keys()].sort()).toEqual([remembered, old, older].sort());
  for (const one of found.values()) expect(conversationOf(one)).toEqual([user, answer]);
  expect(await conversations.find(made, 'bob')).toEqual(new Map());
});

/** Counts reads. */
const countingLog = () => {
  const counted = { reads: 0, follows: 0 };
  const counting: Pick<EventLog, 'read' | 'follow'> = {
    read: (...args) => {
      counted.reads += 1;
      return log.read(...args);
    },
    follow: (...args) => {
      counted.follows += 1;
      return log.follow(...args);
    },
  };
  return { counted, counting };
};

test('the cache keeps the latest responses, at most a quarter for each key', async () => {
  const { counted, counting } = countingLog();
  const conversations = opened({ log: counting, mostBytes: 400_000 });
  const messages = [{ ...user, content: 'x'.repeat(10_000) }];
  const long = (key: string) => ({ ...stored, key, messages });
  const hers = Array.from({ length: 40 }, () => newId());
  const his = ids.make('bob', lane, 'responses');
  conversations.remember(his, long('bob'));
  for (const id of hers) conversations.remember(id, long('ann'));
  const find = finder(conversations);
  expect(await find(his, 'bob')).toHaveLength(2);
  expect(await find(hers.at(-1)!, 'ann')).toHaveLength(2);
  expect(await find(hers.at(-4)!, 'ann')).toHaveLength(2);
  expect(await find(hers.at(-5)!, 'ann')).toBeUndefined();
  expect(await find(his, 'ann')).toBeUndefined();
  expect(counted).toEqual({ reads: 0, follows: 0 });
});

test('a large response is read from the log each time', async () => {
  const { counted, counting } = countingLog();
  const conversations = opened({ log: counting });
  const id = newId();
  const messages = [{ ...user, content: 'x'.repeat(600_000) }];
  const large = { ...fact(id).data, messages };
  conversations.remember(id, storedResponseOf(large)!);
  await log.append([interactionCompleted(large, undefined, 1e7)]);
  const find = finder(conversations);
  for (const reads of [1, 2]) {
    expect(await find(id, 'ann')).toEqual([...messages, answer]);
    expect(counted).toEqual({ reads, follows: 0 });
  }
});

test('ids of other keys and forged ids cause no read of the log', async () => {
  const { counted, counting } = countingLog();
  const id = newId();
  await log.append([fact(id)]);
  const conversations = opened({ log: counting });
  const find = finder(conversations);
  const made = [1, 2, 3].map((n) => `resp_${lane}-${String(n).repeat(32)}`);
  for (const one of [...made, id, id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))])
    expect(await find(one, 'bob'), one).toBeUndefined();
  expect(counted).toEqual({ reads: 0, follows: 0 });
});

test('responses are found by index; the whole log is read only if the index is incomplete', async () => {
  const [oldest, ...others] = Array.from({ length: 12 }, () => newId()) as [string, ...string[]];
  const elsewhere = Array.from({ length: 50 }, (_, n) => {
    const other = String(n).padStart(12, '0');
    return fact(ids.make('bob', other, 'chat'), 1e6, { lane: other, key: 'bob' });
  });
  await log.append([fact(oldest), ...elsewhere, ...others.map((id) => fact(id)), deletion(others[1]!)]);
  const { counted, counting } = countingLog();
  const find = finder(opened({ log: counting }));
  expect(await find(oldest, 'ann')).toEqual([user, answer]);
  expect(await find(others[1]!, 'ann')).toBeUndefined();
  expect(counted).toEqual({ reads: 13, follows: 0 });
  const short = countingLog();
  const findShort = finder(opened({ log: short.counting }, 20));
  expect(await findShort(others[0]!, 'ann')).toEqual([user, answer]);
  expect(short.counted.follows).toBe(0);
  expect(await findShort(oldest, 'ann')).toEqual([user, answer]);
  expect(short.counted.follows).toBe(1);
});

test('look-ups of one key do not delay other keys', async () => {
  const [stuck, fine] = [newId(), ids.make('bob', lane, 'responses')];
  await log.append([fact(stuck), fact(fine, 1e6, { key: 'bob' })]);
  const places = createLanePlaces();
  const view = followSessions({ log, signal: stop.signal, onHeading: places.note });
  await view.reachEnd();
  let first = true;
  const read: EventLog['read'] = (...args) => {
    if (!first) return log.read(...args);
    first = false;
    return new Promise(() => {});
  };
  const conversations = openConversations({
    ids,
    places,
    limitMs: 1_000,
    log: { follow: log.follow, read },
    reachEnd: async () => true,
    isCaughtUp: () => true,
  });
  const find = finder(conversations);
  const hers = Promise.allSettled(Array.from({ length: 20 }, () => find(stuck, 'ann')));
  expect(await find(fine, 'bob')).toEqual([user, answer]);
  for (const one of await hers)
    expect(one).toMatchObject({ status: 'rejected', reason: { name: 'RESPONSES_UNREADABLE' } });
});

const deletion = (interactionId: string, at = Date.now()) =>
  ResponseDeleted.create({
    id: `${interactionId}/deleted`,
    source: 'clawloop/test',
    time: new Date(at).toISOString(),
    data: { interactionId, lane, key: 'ann' },
  });

test('responses that were not stored or were deleted are not found, on any replica', async () => {
  const made = [1, 2, 3, 4].map(() => newId());
  const [unstored, deleted, kept, overtaken] = made as [string, string, string, string];
  const facts = [
    fact(unstored, 1e6, { response: { store: false, created_at: 1 } }),
    fact(deleted),
    fact(kept),
  ];
  await log.append([...facts, deletion(deleted), deletion(overtaken), fact(overtaken)]);
  const one = opened();
  const other = opened();
  const responseIds = [unstored, deleted, kept, overtaken];
  expect([...(await one.find(responseIds, 'ann')).keys()]).toEqual([kept]);
  expect([...(await other.find(responseIds, 'ann')).keys()]).toEqual([kept]);
  one.forget(deletion(kept));
  expect(await one.find([kept], 'ann')).toEqual(new Map());
  await log.append([deletion(kept)]);
  const stillThere = async () => (await other.find([kept], 'ann')).size;
  await expect.poll(stillThere, { timeout: 20_000 }).toBe(0);
});

test('deletions are known while the answer can be replayed, also after a restart', async () => {
  const made = [1, 2, 3].map(() => newId());
  const [old, deleted, kept] = made as [string, string, string];
  const begun = Date.now();
  await log.append([deletion(old, begun - REPEATABLE_MS - 1), deletion(deleted, begun)]);
  let time = begun;
  const conversations = opened({ now: () => time });
  const known = () => Promise.all([old, deleted, kept].map(conversations.isDeleted));
  expect(await known()).toEqual([false, true, false]);
  time += REPEATABLE_MS;
  conversations.forget(deletion(kept, time));
  expect(await known()).toEqual([false, false, true]);
  const unheard = opened({ reachEnd: async () => false, isCaughtUp: () => false });
  await expect(unheard.isDeleted(deleted)).rejects.toMatchObject({ name: 'RESPONSES_UNREADABLE' });
  const [chat, untouched] = [newId('chat'), newId('chat')];
  expect(await unheard.isDeleted(chat)).toBe(false);
  unheard.forget(deletion(deleted));
  unheard.forget(deletion(`${chat}-2`)); // a choice
  expect(await Promise.all([deleted, chat, untouched].map(unheard.isDeleted))).toEqual([true, true, false]);
});

test('an unavailable log is an error, not a missing response', async () => {
  const id = newId();
  await log.append([fact(id)]);
  const places = createLanePlaces();
  const view = followSessions({ log, signal: stop.signal, onHeading: places.note });
  await view.reachEnd();
  const unreadable = { name: 'RESPONSES_UNREADABLE', status: 503 };
  const silent = (read: EventLog['read'], limitMs?: number) =>
    openConversations({
      ids,
      places,
      log: { follow: log.follow, read },
      reachEnd: async () => true,
      isCaughtUp: () => true,
      ...defined({ limitMs }),
    });
  const broken = silent(() => Promise.reject(logError('LogUnavailable', 'it is away')));
  await expect(broken.find([id], 'ann')).rejects.toMatchObject(unreadable);
  const unheard = opened({ reachEnd: async () => false, isCaughtUp: () => true });
  await expect(unheard.find([newId()], 'ann')).rejects.toMatchObject(unreadable);
  const hangs = silent(() => new Promise(() => {}), 50);
  const lookUps = Array.from({ length: 5 }, () => hangs.find([id], 'ann'));
  const began = performance.now();
  for (const one of lookUps) await expect(one).rejects.toMatchObject(unreadable);
  expect(performance.now() - began).toBeLessThan(5_000); // together, not one after the other
});
