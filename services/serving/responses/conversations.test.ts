import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { newAnswerId } from '../chat/lane.ts';
import { interactionCompleted } from '../record/interaction.ts';
import { REPEATABLE_MS } from '../record/recorded-answers.ts';
import { followSessions } from '../rl/session-view.ts';
import { instructionsMessage } from './chat-messages.ts';
import { type Conversations, openConversations } from './conversations.ts';
import { conversationOf, toldByFact } from './told-response.ts';

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

const heard = async () => true;
const lane = '0123456789ab';
const user = { role: 'user', content: 'hi' } as const;
const answer = { role: 'assistant', content: 'hello' } as const;
const fact = (interactionId: string, maxRecordBytes = 1e6, more: object = {}) =>
  interactionCompleted(
    {
      ...{ interactionId, requestId: 'req', api: 'responses', lane, key: 'ann', adapter: 'default' },
      ...{ live: true, settle: 'votes', model: 'm', engine: 'local', version: 0, disconnected: false },
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

const told = toldByFact(fact('resp').data)!;

const finder =
  ({ find }: Conversations) =>
  async (id: string, keyId: string) => {
    const told = (await find([id], keyId)).get(id);
    return told && conversationOf(told);
  };

test('what is not remembered is found in the log, by the key that it was given to', async () => {
  const [id, other, large] = [1, 2, 3].map(() => newAnswerId(lane, 'responses')) as [string, string, string];
  await log.append([fact(id), fact(large, 10)]);
  const conversations = openConversations({ log, heard });
  const find = finder(conversations);
  expect(await Promise.all([find(id, 'ann'), find(id, 'bob')])).toEqual([[user, answer], undefined]);
  for (const lost of [other, large, 'resp_1', '']) expect(await find(lost, 'ann'), lost).toBeUndefined();
});

test('several are found at once, remembered or not', async () => {
  const ids = [1, 2, 3, 4].map(() => newAnswerId(lane, 'responses'));
  const [remembered, old, older, lost] = ids as [string, string, string, string];
  await log.append([fact(older), fact(old)]);
  const conversations = openConversations({ log, heard });
  conversations.remember(remembered, told);
  const found = await conversations.find([remembered, old, older, lost, old], 'ann');
  expect([...found.keys()].sort()).toEqual([remembered, old, older].sort());
  for (const one of found.values()) expect(conversationOf(one)).toEqual([user, answer]);
  expect(await conversations.find(ids, 'bob')).toEqual(new Map());
});

test('the latest are remembered', async () => {
  const [first, second] = [1, 2].map(() => newAnswerId(lane, 'responses')) as [string, string];
  const conversations = openConversations({ log, heard, most: 1 });
  const find = finder(conversations);
  conversations.remember(first, told);
  expect(await find(first, 'ann')).toEqual([user, answer]);
  expect(await find(first, 'bob')).toBeUndefined();
  conversations.remember(second, told);
  expect(await find(second, 'ann')).toEqual([user, answer]);
  expect(await find(first, 'ann')).toBeUndefined();
});

const deletion = (interactionId: string, at = Date.now()) =>
  ResponseDeleted.create({
    ...{ id: `${interactionId}/deleted`, source: 'clawloop/test', time: new Date(at).toISOString() },
    data: { interactionId, lane, key: 'ann' },
  });

test('what was not stored, or was deleted, is not found, by whichever replica', async () => {
  const made = [1, 2, 3, 4].map(() => newAnswerId(lane, 'responses'));
  const [unstored, deleted, kept, overtaken] = made as [string, string, string, string];
  const facts = [
    fact(unstored, 1e6, { response: { store: false, created_at: 1 } }),
    fact(deleted),
    fact(kept),
  ];
  await log.append([...facts, deletion(deleted), deletion(overtaken), fact(overtaken)]);
  const one = openConversations({ log, heard });
  const other = openConversations({ log, heard });
  followSessions({ log, signal: stop.signal, onDeleted: other.forget });
  const ids = [unstored, deleted, kept, overtaken];
  expect([...(await one.find(ids, 'ann')).keys()]).toEqual([kept]);
  expect([...(await other.find(ids, 'ann')).keys()]).toEqual([kept]);
  one.forget(deletion(kept));
  expect(await one.find([kept], 'ann')).toEqual(new Map());
  await log.append([deletion(kept)]);
  const stillThere = async () => (await other.find([kept], 'ann')).size;
  await expect.poll(stillThere, { timeout: 20_000 }).toBe(0);
});

test('a deletion is known as long as the answer can be asked for again, also one of before the start', async () => {
  const made = [1, 2, 3].map(() => newAnswerId(lane, 'responses'));
  const [old, deleted, kept] = made as [string, string, string];
  const begun = Date.now();
  await log.append([deletion(old, begun - REPEATABLE_MS - 1), deletion(deleted, begun)]);
  let time = begun;
  const conversations = openConversations({ log, heard: () => view.reachEnd(), now: () => time });
  const view = followSessions({ log, signal: stop.signal, onDeleted: conversations.forget });
  const known = () => Promise.all([old, deleted, kept].map(conversations.isDeleted));
  expect(await known()).toEqual([false, true, false]);
  time += REPEATABLE_MS;
  conversations.forget(deletion(kept, time));
  expect(await known()).toEqual([false, false, true]);
  const unheard = openConversations({ log, heard: async () => false });
  await expect(unheard.isDeleted(deleted)).rejects.toMatchObject({ name: 'RESPONSES_UNREADABLE' });
  expect(await unheard.isDeleted(newAnswerId(lane, 'chat'))).toBe(false);
  unheard.forget(deletion(deleted));
  expect(await unheard.isDeleted(deleted)).toBe(true);
});

test('a log that does not answer is no proof that there is no such response', async () => {
  const id = newAnswerId(lane, 'responses');
  const silent = (done: Promise<never>): Pick<EventLog, 'follow'> => ({
    follow: (_topic, _from, _onRecord, signal) => ({
      caughtUp: new Promise(() => {}),
      reachEnd: async () => {},
      done: Promise.race([
        done,
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
      ]),
    }),
  });
  const unreadable = { name: 'RESPONSES_UNREADABLE', status: 503 };
  const broken = openConversations({
    log: silent(Promise.reject(new Error('it is away'))),
    heard,
  });
  await expect(broken.find([id], 'ann')).rejects.toMatchObject(unreadable);
  const hangs = openConversations({ log: silent(new Promise(() => {})), heard, limitMs: 50 });
  const asked = Array.from({ length: 5 }, () => hangs.find([id], 'ann'));
  const began = performance.now();
  for (const one of asked) await expect(one).rejects.toMatchObject(unreadable);
  expect(performance.now() - began).toBeLessThan(5_000); // together, not one after the other
});
