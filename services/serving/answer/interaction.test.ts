import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rememberJson } from '../../../shared/chat/json-text.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { interactionCompleted } from './interaction.ts';
import { openOutbox } from './outbox.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-interaction-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const data = (messages: InteractionCompleted['data']['messages']): InteractionCompleted['data'] => ({
  interactionId: 'chatcmpl-1',
  requestId: 'req_1',
  api: 'chat',
  lane: 'lane',
  key: 'key',
  adapter: 'default',
  live: true,
  settle: 'votes',
  model: 'm',
  messages,
  answer: { role: 'assistant', content: 'é' },
  sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 0 },
  tokens: null,
  version: 0,
  engine: 'upstream',
  finishReason: 'stop',
  disconnected: false,
  timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 2 },
  usage: { promptTokens: 1, completionTokens: 1 },
});

const plain = (event: ClawLoopEvent) => JSON.parse(JSON.stringify(event)) as unknown;

/** Messages that know the bytes that they were read from, as those of a long request do. */
function received(times: number) {
  const messages = [{ role: 'user', content: 'é😀'.repeat(times) }] as const;
  rememberJson(messages, Buffer.from(JSON.stringify(messages)));
  return messages;
}

test.each([1, 20_000])(
  'an event made of bytes (%s) can be written repeatedly and anywhere',
  async (times) => {
    const fact = interactionCompleted(data(received(times)), undefined, 2 ** 24);
    const log = await openSqliteLog({ folder: join(folder, 'log') });
    const outbox = await openOutbox(join(folder, 'outbox'));
    await log.append([fact, fact]);
    await log.append([fact]);
    await outbox.put(fact); // as if the log stored it, but confirmed it too late
    await outbox.drain((event) => log.append([event]));
    const found: unknown[] = [];
    const stop = new AbortController();
    const following = log.follow('conversations', {}, ({ event }) => found.push(event), {
      signal: stop.signal,
    });
    await following.caughtUp;
    stop.abort();
    await following.done;
    await log.close();
    expect(found).toEqual(Array(4).fill(plain(fact)));
  },
);

test('an event that exceeds the record size loses its messages and is marked', () => {
  const messages = received(1_000);
  const bytes = JSON.stringify(interactionCompleted(data(messages), undefined, 2 ** 24));
  const most = Buffer.byteLength(bytes);
  expect(interactionCompleted(data(messages), undefined, most).data.messages).toBe(messages);
  const bare = interactionCompleted(data(messages), undefined, most - 1).data;
  expect(bare).toMatchObject({ messages: [], tooLarge: true, untrainable: 'too-large' });
});

test('an event that is too large because of the instructions of a response loses them', () => {
  const response = { store: true, created_at: 1, instructions: 'x'.repeat(10_000) };
  const bare = interactionCompleted({ ...data(received(1)), response }, undefined, 5_000).data;
  expect(bare).toMatchObject({ tooLarge: true, response: { store: true, created_at: 1 } });
  expect(JSON.stringify(bare).length).toBeLessThan(5_000);
});
