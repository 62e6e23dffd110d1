import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ChatMessage } from './message.ts';
import { emptyConversation, nextHash, rollingHashes, systemHash } from './rolling-hash.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const system: ChatMessage = { role: 'system', content: 'Be brief.' };

test('a continued conversation has the hashes of what came before', () => {
  const first = [system, user('hi'), assistant('hello')];
  const second = [...first, user('thanks')];
  expect(rollingHashes(second).slice(0, 3)).toEqual(rollingHashes(first));
  expect(nextHash(rollingHashes(first).at(-1)!, user('thanks'))).toBe(rollingHashes(second).at(-1));
  expect(rollingHashes([])).toEqual([]);
});

test('each message, its role and its place count', () => {
  const ends = [
    [user('a'), user('b')],
    [user('b'), user('a')],
    [user('a'), assistant('b')],
    [user('ab')],
    [user('a\nb')],
    [user('a')],
  ].map((messages) => rollingHashes(messages).at(-1));
  expect(new Set(ends).size).toBe(ends.length);
  for (const hash of ends) expect(hash).toMatch(/^[0-9a-f]{24}$/);
});

test('the system text is apart from the conversation', () => {
  const other: ChatMessage = { role: 'system', content: 'Be long.' };
  expect(rollingHashes([system, user('hi')])).toEqual(rollingHashes([other, user('hi')]));
  expect(rollingHashes([system])).toEqual([emptyConversation]);
  expect(systemHash([system, user('hi')])).toBe(systemHash([system, user('ho')]));
  expect(systemHash([system])).not.toBe(systemHash([other]));
});

/** Requests of a real client, recorded. They stand beside the checkout. */
const recorded = new URL('../../../shared/fixtures/openclaw/', import.meta.url);
const testRecorded = existsSync(recorded) || process.env.CLAWLOOP_REQUIRE_ALL === '1' ? test : test.skip;
type Capture = { readonly requests: { readonly body: { readonly messages: ChatMessage[] } }[] };
const conversations = (file: string): ChatMessage[][] =>
  (JSON.parse(readFileSync(new URL(file, recorded), 'utf8')) as Capture).requests.map(
    ({ body }) => body.messages,
  );
const lastHash = (messages: readonly ChatMessage[]) => rollingHashes(messages).at(-1)!;

testRecorded('each request of a recorded tool loop continues the one before', () => {
  const requests = conversations('02-tool-loop.json');
  expect(requests).toHaveLength(3);
  for (const [index, messages] of requests.slice(1).entries()) {
    expect(rollingHashes(messages)).toContain(lastHash(requests[index]!));
  }
});

testRecorded('replayed reasoning and rewritten dates break no recorded conversation', () => {
  const [, first, second] = conversations('03-reasoning-replay-and-truncated-history.json');
  expect(rollingHashes(second!)).toContain(lastHash(first!));
});

testRecorded('all recorded retries of a request are the same request', () => {
  const requests = conversations('04-retries-after-socket-drop.json');
  expect(requests).toHaveLength(8);
  expect(new Set(requests.map(lastHash)).size).toBe(1);
  expect(new Set(requests.map(systemHash)).size).toBe(1);
});

testRecorded('a recorded subagent is another conversation than its parent, which goes on', () => {
  const [parent, afterSpawn, child, announce] = conversations('06-subagent-and-announce.json');
  expect(rollingHashes(afterSpawn!)).toContain(lastHash(parent!));
  expect(rollingHashes(announce!)).toContain(lastHash(afterSpawn!));
  expect(rollingHashes(child!)).not.toContain(lastHash(parent!));
});
