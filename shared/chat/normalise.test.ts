import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import type { ChatMessage } from './message.ts';
import { normalisedSystemText, normaliseMessage, userWords } from './normalise.ts';

const same = (a: ChatMessage, b: ChatMessage) => expect(normaliseMessage(a)).toEqual(normaliseMessage(b));
const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
const assistant = (content: ChatMessage['content'], more: object = {}): ChatMessage => ({
  role: 'assistant',
  content,
  ...more,
});
const calling = (id: string, args: string) =>
  assistant(null, { tool_calls: [{ id, type: 'function', function: { name: 'exec', arguments: args } }] });

test('text parts, cache marks, line ends and outer white space make no difference', () => {
  same(
    user('one\ntwo'),
    user([
      { type: 'text', text: 'one\r\n' },
      { type: 'text', text: 'two \n', cache_control: {} },
    ]),
  );
});

test('dates, runtime lines and retries are not words of the person', () => {
  const marks = '\n\nRuntime: agent=main | session=agent:main:a | sessionId=a | model=tier/m';
  same(user('hi there'), user('[Sat 2026-11-21 00:26 UTC] hi there'));
  same(user('hi there'), user(`[Sat 2026-11-21 00:26 GMT+2] hi there${marks}`));
  const queued = '[Queued user message from a previous active turn; preserved as context only.]\nhi there';
  const suffix = '\n\nContinue the current task from the existing transcript, and so on.';
  same(user('hi there'), user(`[Sun 2026-11-22 00:26 UTC] ${queued}${suffix}${marks}`));
  expect(userWords(user(`[Sat 2026-11-21 00:26 UTC] two\nlines${marks}`))).toBe('two\nlines');
  const parts = ['hi there', marks.trim()].map((text) => ({ type: 'text', text }));
  same(user('hi there'), user(parts));
});

test('words that only look like marks stay', () => {
  expect(userWords(user('[Sat] see you'))).toBe('[Sat] see you');
  expect(userWords(user('Runtime: 3 hours'))).toBe('Runtime: 3 hours');
  expect(userWords(user('Continue the current task from the existing transcript'))).toMatch(/^Continue/);
});

test('reasoning makes no difference, however it is replayed', () => {
  const plain = assistant('The answer.');
  same(plain, assistant('The answer.', { reasoning_content: 'hm' }));
  same(plain, assistant('<think>\nhm\n</think>\n\nThe answer.'));
  same(plain, assistant('hm, opened in the prompt</think>The answer.'));
  same(assistant(''), assistant('<think>cut off in the mid'));
  expect(normaliseMessage(assistant('a <think>b</think> c <think>d</think> e'))?.text).toBe('a  c  e');
  expect(normaliseMessage(user('what does <think> mean?'))?.text).toBe('what does <think> mean?');
});

test('adversarial texts are normalised in linear time', () => {
  const start = process.threadCpuUsage();
  for (const text of ['<think>', '<!-- openclaw:attempt:DYNAMIC -->', '\n \t', '\nRuntime: agent= | ']) {
    for (const role of ['assistant', 'system', 'user'] as const) {
      normaliseMessage({ role, content: text.repeat(Math.floor(1_000_000 / text.length)) });
    }
  }
  const { user: spent } = process.threadCpuUsage(start); // microseconds, whatever else the machine does
  expect(spent).toBeLessThan(5_000_000);
});

test('tool calls with other ids, key order or spaces are equal', () => {
  same(
    calling('call_7', '{"b": [1, {"y": 2, "x": 1}], "a": 1}'),
    calling('call7', '{"a":1,"b":[1,{"x":1,"y":2}]}'),
  );
  same(calling('1', ''), calling('2', '{}'));
  same(calling('1', 'not json '), calling('2', 'not json'));
  expect(normaliseMessage(calling('1', '{"a":1}'))).not.toEqual(normaliseMessage(calling('1', '{"a":2}')));
  same(
    { role: 'tool', content: 'ok', tool_call_id: 'call_7' },
    { role: 'tool', content: 'ok', tool_call_id: 'call7' },
  );
});

test('empty contents are equal, and so are system and developer', () => {
  same(assistant(null), assistant(''));
  same(assistant(null), { role: 'assistant' });
  same({ role: 'developer', content: 'rules' }, { role: 'system', content: 'rules' });
});

test('images distinguish messages', () => {
  const image = (url: string, more: object = {}) =>
    user([{ type: 'image_url', image_url: { url }, ...more }]);
  same(image('a'), image('a', { cache_control: { type: 'ephemeral' } }));
  expect(normaliseMessage(image('a'))).not.toEqual(normaliseMessage(image('b')));
});

test("results of other agents before a person's words are removed", () => {
  const results = '[OpenClaw runtime event] Agent steering queue items arrived.\n\n1. count\nThree.';
  const date = '[Sat 2026-11-21 00:26 UTC] ';
  expect(userWords(user(`${date}${results}\n\nCurrent parent turn:\n\n${date}And now?`))).toBe('And now?');
  expect(userWords(user(results))).toBe(results);
});

test('internal context is not part of the history', () => {
  const text = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>x<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
  expect(normaliseMessage(user([{ type: 'text', text }]))).toBeUndefined();
});

test('the system text has all leading messages without their daily changes', () => {
  const dynamic = (day: string) =>
    `rules\n<!-- openclaw:attempt:DYNAMIC -->\nToday is ${day}\n<!-- /openclaw:attempt:DYNAMIC -->`;
  const messages: ChatMessage[] = [
    { role: 'system', content: dynamic('Saturday') },
    { role: 'developer', content: 'more' },
    user('hi'),
    { role: 'system', content: 'later' },
  ];
  expect(normalisedSystemText(messages)).toBe('rules\nmore');
  same({ role: 'system', content: dynamic('Saturday') }, { role: 'system', content: dynamic('Sunday') });
});

test('canonical JSON is JSON with sorted keys at any depth', () => {
  expect(canonicalJson({ b: [{ d: 1, c: null }], a: 'x', 10: 1, 9: 2 })).toBe(
    '{"9":2,"10":1,"a":"x","b":[{"c":null,"d":1}]}',
  );
  expect(canonicalJson(undefined)).toBe('null');
});
