import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { newAnswerId } from '../chat/lane.ts';
import { interactionCompleted } from '../record/interaction.ts';
import { instructionsMessage } from './chat-messages.ts';
import { type Conversations, openConversations } from './conversations.ts';

let folder: string;
let log: EventLog;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-conversations-'));
  log = await openSqliteLog({ folder, partitions: 2 });
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const lane = '0123456789ab';
const user = { role: 'user', content: 'hi' } as const;
const answer = { role: 'assistant', content: 'hello' } as const;
const fact = (interactionId: string, maxRecordBytes = 1e6) =>
  interactionCompleted(
    {
      ...{ interactionId, requestId: 'req', api: 'responses', lane, key: 'ann', adapter: 'default' },
      ...{ live: true, settle: 'votes', model: 'm', engine: 'local', version: 0, disconnected: false },
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

const finder =
  ({ find }: Conversations) =>
  async (id: string, keyId: string) =>
    (await find([id], keyId)).get(id);

test('what is not remembered is found in the log, by the key that it was given to', async () => {
  const [id, other, large] = [1, 2, 3].map(() => newAnswerId(lane, 'responses')) as [string, string, string];
  await log.append([fact(id), fact(large, 10)]);
  const conversations = openConversations({ log });
  const find = finder(conversations);
  expect(await Promise.all([find(id, 'ann'), find(id, 'bob')])).toEqual([[user, answer], undefined]);
  for (const lost of [other, large, 'resp_1', '']) expect(await find(lost, 'ann'), lost).toBeUndefined();
});

test('several are found at once, remembered or not', async () => {
  const ids = [1, 2, 3, 4].map(() => newAnswerId(lane, 'responses'));
  const [remembered, old, older, lost] = ids as [string, string, string, string];
  await log.append([fact(older), fact(old)]);
  const conversations = openConversations({ log });
  conversations.remember(remembered, { keyId: 'ann', messages: [user] });
  const found = await conversations.find([remembered, old, older, lost, old], 'ann');
  expect([...found].sort()).toEqual(
    [
      [remembered, [user]],
      [old, [user, answer]],
      [older, [user, answer]],
    ].sort(),
  );
  expect(await conversations.find(ids, 'bob')).toEqual(new Map());
});

test('the latest are remembered', async () => {
  const [first, second] = [1, 2].map(() => newAnswerId(lane, 'responses')) as [string, string];
  const conversations = openConversations({ log, most: 1 });
  const find = finder(conversations);
  const conversation = { keyId: 'ann', messages: [user] };
  conversations.remember(first, conversation);
  expect(await find(first, 'ann')).toEqual([user]);
  expect(await find(first, 'bob')).toBeUndefined();
  conversations.remember(second, conversation);
  expect(await find(second, 'ann')).toEqual([user]);
  expect(await find(first, 'ann')).toBeUndefined();
});
