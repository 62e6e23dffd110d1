import { expect, test } from 'vitest';
import { joinJson, jsonOnce, jsonWith } from './json-text.ts';

test('joined pieces equal JSON written at once', () => {
  const messages = [{ role: 'user', content: 'say "hi"\n' }];
  const whole = jsonWith({ model: 'm', gone: undefined }, { messages: jsonOnce(messages) });
  expect(joinJson(whole)).toBe(JSON.stringify({ model: 'm', messages }));
  expect(joinJson(jsonWith({}, { messages: jsonOnce(messages) }))).toBe(JSON.stringify({ messages }));
  expect(joinJson(jsonWith({ model: 'm' }, {}))).toBe('{"model":"m"}');
  expect(joinJson(jsonWith({}, {}))).toBe('{}');
});

test('bytes and texts are joined to bytes in a separate buffer', () => {
  const words = { text: 'é 😀' };
  const bytes = Buffer.from(JSON.stringify(words));
  const inner = jsonWith({}, { bytes, text: '1' });
  const joined = joinJson(jsonWith({ é: 'ü' }, { inner, more: bytes, last: 'null' })) as Buffer;
  expect(joined.toString()).toBe(
    JSON.stringify({ é: 'ü', inner: { bytes: words, text: 1 }, more: words, last: null }),
  );
  expect(joined.buffer.byteLength).toBe(joined.length);
});

test('a value is serialised once', () => {
  let times = 0;
  const value = { toJSON: () => ++times };
  expect([jsonOnce(value), jsonOnce(value)]).toEqual(['1', '1']);
});
