import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWhole, type JsonState, jsonStart, nextJson } from './json-state.ts';

/** The state after a text; undefined: the text is not valid JSON. */
const read = (text: string): JsonState | undefined => {
  let state: JsonState | undefined = jsonStart;
  for (let at = 0; at < text.length && state !== undefined; at++) state = nextJson(state, text[at]!);
  return state;
};
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('every JSON value is complete at its last character, and not before', () => {
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 0, max: 3 }), (json, indent) => {
      const text = `[${JSON.stringify(JSON.parse(json), null, indent)}]`;
      expect(isWhole(read(text)!)).toBe(true);
      expect(isWhole(read(text.slice(0, -1))!)).toBe(false);
    }),
    { seed: 1 },
  );
});

test('any complete text is valid JSON', () => {
  const characters = fc.constantFrom(...'{}[]",:0123456789.-+eEtrufalsn\\ "');
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 12 }), (some) => {
      const text = `[${some.join('')}]`;
      const state = read(text);
      expect(state !== undefined && isWhole(state)).toBe(isJson(text));
    }),
    { seed: 2, numRuns: 5_000 },
  );
});

test.each([
  '{a',
  '{"a" 1',
  '[1,]',
  '[01]',
  '{"a":}',
  '["\\x"]',
  '["\\u12g4"]',
  '[tru]',
  '[-]',
  '["\n"]',
  '[1]]',
])('%j begins no JSON value', (text) => expect(read(text)).toBeUndefined());
