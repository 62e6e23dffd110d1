import { expect, test } from 'vitest';
import { jsonOnce, jsonWith } from './json-text.ts';

test('what is put together reads as if it had been written in one piece', () => {
  const messages = [{ role: 'user', content: 'say "hi"\n' }];
  expect(JSON.parse(jsonWith({ model: 'm', gone: undefined }, { messages: jsonOnce(messages) }))).toEqual({
    model: 'm',
    messages,
  });
  expect(jsonWith({}, { messages: jsonOnce(messages) })).toBe(JSON.stringify({ messages }));
  expect(jsonWith({ model: 'm' }, {})).toBe('{"model":"m"}');
  expect(jsonWith({}, {})).toBe('{}');
});

test('a value is turned into text once', () => {
  let times = 0;
  const value = { toJSON: () => ++times };
  expect([jsonOnce(value), jsonOnce(value)]).toEqual(['1', '1']);
});
