import { expect, test } from 'vitest';
import { parseJsonBody } from './json-body.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const failure = (text: string): unknown => {
  try {
    return parseJsonBody(text);
  } catch (error) {
    return error;
  }
};

test('a body that nests too deeply is refused before anything walks it', () => {
  expect(parseJsonBody(nested(100))).toBeInstanceOf(Array);
  for (const levels of [130, 1_000_000]) {
    expect(failure(nested(levels))).toMatchObject({ name: 'INVALID_REQUEST', message: /deep/ });
    expect(failure(`{"a":${nested(levels)}}`)).toMatchObject({ name: 'INVALID_REQUEST' });
  }
});

test('a name that could set a prototype is refused, however it is spelt and wherever it stands', () => {
  for (const text of [
    '{"__proto__":{"admin":true}}',
    '{"a":[{"\\u005f_proto__":1}]}',
    '{"constructor":{"prototype":{}}}',
  ]) {
    expect(failure(text)).toMatchObject({ name: 'INVALID_JSON' });
  }
  const harmless = { a: '"__proto__":', constructor: 'a word' };
  expect(parseJsonBody(JSON.stringify(harmless))).toEqual(harmless);
});

test('a byte order mark is passed over', () => expect(parseJsonBody('\uFEFF{"a":1}')).toEqual({ a: 1 }));

test('what is no JSON is told so', () => {
  for (const text of ['', '{', 'undefined', '{"a":1}}'])
    expect(failure(text)).toMatchObject({ name: 'INVALID_JSON' });
});
