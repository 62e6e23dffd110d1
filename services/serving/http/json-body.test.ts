import { expect, test, vi } from 'vitest';
import { jsonOnce } from '../../../shared/chat/json-text.ts';
import { parseJsonBody } from './json-body.ts';

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const failure = (text: string): unknown => {
  try {
    return parseJsonBody(Buffer.from(text));
  } catch (error) {
    return error;
  }
};

test('a body that is nested too deeply is refused before anything walks it', () => {
  expect(parseJsonBody(Buffer.from(nested(100)))).toBeInstanceOf(Array);
  for (const levels of [130, 1_000_000]) {
    expect(failure(nested(levels))).toMatchObject({ name: 'INVALID_REQUEST', message: /deep/ });
    expect(failure(`{"a":${nested(levels)}}`)).toMatchObject({ name: 'INVALID_REQUEST' });
  }
});

test('names that could set a prototype are refused in any spelling and position', () => {
  for (const text of [
    '{"__proto__":{"admin":true}}',
    '{"a":[{"\\u005f_proto__":1}]}',
    '{"constructor":{"prototype":{}}}',
  ]) {
    expect(failure(text)).toMatchObject({ name: 'INVALID_JSON' });
  }
  const harmless = { a: '"__proto__":', constructor: 'a word' };
  expect(parseJsonBody(Buffer.from(JSON.stringify(harmless)))).toEqual(harmless);
});

test('parts of a body remember their text; those of long bodies remember their bytes', () => {
  for (const words of ['plain', 'é, 😀 and \uFEFF'])
    for (const [mark, times] of [
      ['', 1],
      ['', 3_000],
      ['\uFEFF', 3_000],
    ] as const) {
      const messages = `[ {"content":"${words.repeat(times)}"} ]`;
      const body = `${mark}{"${words}":[1], "messages":${messages},"tools": [2 ]}`;
      const read = parseJsonBody(Buffer.from(body)) as Record<string, object>;
      const known = ['messages', 'tools', words].map((name) => jsonOnce(read[name]!));
      expect(known.map(String)).toEqual([messages, ' [2 ]', '[1]']);
      expect(known.map((text) => typeof text)).toEqual(Array(3).fill(times === 1 ? 'string' : 'object'));
    }
});

test('bytes that are not UTF-8 are not forwarded', () => {
  const [before, after] = [`{"messages":["${'a'.repeat(5_000)}`, '"]}'].map((part) => Buffer.from(part));
  const read = parseJsonBody(Buffer.concat([before!, Buffer.of(0xff), after!])) as Record<string, object>;
  expect(String(jsonOnce(read.messages!))).toBe(`["${'a'.repeat(5_000)}\uFFFD"]`);
});

test('a byte order mark is skipped', () =>
  expect(parseJsonBody(Buffer.from('\uFEFF{"a":1}'))).toEqual({ a: 1 }));

test('invalid JSON is reported as such', () => {
  for (const text of ['', '{', 'undefined', '{"a":1}}'])
    expect(failure(text)).toMatchObject({ name: 'INVALID_JSON' });
});

test('the byte positions of parts are found in linear time', () => {
  const members = Array.from({ length: 250 }, (_, at) => `"é${at}":{"x":"${'ü'.repeat(500)}"}`);
  const body = Buffer.from(`{${members.join()}}`);
  const measured = vi.spyOn(Buffer, 'byteLength');
  const read = parseJsonBody(body) as Record<string, object>;
  const letters = measured.mock.calls.reduce((sum, [text]) => sum + (text as string).length, 0);
  measured.mockRestore();
  expect(letters).toBeLessThan(2 * body.length);
  expect(String(jsonOnce(read.é249!))).toBe(members.at(-1)!.slice('"é249":'.length));
});

test('of a repeated name, the last value counts', () => {
  const body = `{"a":{"é":1},"b":{"x":"${'ü'.repeat(3_000)}"},"a":{"é":2}}`;
  const read = parseJsonBody(Buffer.from(body)) as Record<string, object>;
  expect(String(jsonOnce(read.a!))).toBe('{"é":2}');
});

test('a body with too many values is refused before it is parsed', () => {
  const parse = vi.spyOn(JSON, 'parse');
  for (const value of ['[],', '{},', '1,'])
    expect(failure(`[${value.repeat(300_000)}0]`)).toMatchObject({
      name: 'INVALID_REQUEST',
      message: /values/,
    });
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
  const commas = `"${',[{\\"'.repeat(100_000)}"`;
  expect(failure(`[${commas}]`)).toEqual([JSON.parse(commas)]);
});

test('a body with a hundred thousand members remembers none of them', () => {
  const define = vi.spyOn(Object, 'defineProperty');
  const members = Array.from({ length: 100_000 }, (_, at) => `"${at}":{}`);
  expect(Object.keys(parseJsonBody(Buffer.from(`{${members.join()}}`)) as object)).toHaveLength(100_000);
  expect(define.mock.calls.length).toBeLessThan(100);
  define.mockRestore();
});
