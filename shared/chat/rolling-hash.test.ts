import { expect, test } from 'vitest';
import { builtRequests } from '../../test/openclaw-requests/built-requests.ts';
import { hashingSuite } from '../../test/openclaw-requests/hashing-suite.ts';
import type { ChatMessage } from './message.ts';
import { normalisedSystemText } from './normalise.ts';
import { emptyConversation, nextHash, rollingHashes } from './rolling-hash.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const system: ChatMessage = { role: 'system', content: 'Be brief.' };

test('a continued conversation has the earlier hashes', () => {
  const first = [system, user('hi'), assistant('hello')];
  const second = [...first, user('thanks')];
  expect(rollingHashes(second).slice(0, 3)).toEqual(rollingHashes(first));
  expect(nextHash(rollingHashes(first).at(-1)!, user('thanks'))).toBe(rollingHashes(second).at(-1));
  expect(rollingHashes([])).toEqual([]);
});

test('each message, its role and its position count', () => {
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

test('the system text is not part of the conversation hash', () => {
  const other: ChatMessage = { role: 'system', content: 'Be long.' };
  expect(rollingHashes([system, user('hi')])).toEqual(rollingHashes([other, user('hi')]));
  expect(rollingHashes([system])).toEqual([emptyConversation]);
  expect(normalisedSystemText([system, user('hi')])).toBe(normalisedSystemText([system, user('ho')]));
  expect(normalisedSystemText([system])).not.toBe(normalisedSystemText([other]));
});

hashingSuite('requests in the shape of OpenClaw', builtRequests);
