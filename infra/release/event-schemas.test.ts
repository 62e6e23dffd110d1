import { expect, test } from 'vitest';
import { currentSchemas, readReleased, unannounced } from './event-schemas.ts';

test('an event whose schema differs from the last release has a higher version', () => {
  // If this fails: raise the version in the event's defineEvent, so that an older reader stops instead of
  // losing meaning.
  expect(unannounced(readReleased(), currentSchemas())).toEqual([]);
});

const schema = (properties: object, version = 1) => ({ 'a.done': { version, schema: { properties } } });
const text = { type: 'string' };

test.each([
  ['a field more', schema({ a: text, b: text })],
  ['a field less', schema({})],
  ['another type', schema({ a: { type: 'number' } })],
  ['another choice', schema({ a: { enum: ['x'] } })],
])('%s with the old version is named', (_, current) => {
  expect(unannounced(schema({ a: text }), current)).toHaveLength(1);
});

test('unchanged, newer and new types pass; lower versions and missing types do not', () => {
  const released = schema({ a: text, b: text }, 2);
  expect(unannounced(released, schema({ b: text, a: text }, 2))).toEqual([]);
  expect(unannounced(released, schema({ a: text }, 3))).toEqual([]);
  expect(unannounced({}, released)).toEqual([]);
  expect(unannounced(released, schema({ a: text, b: text }, 1))).toHaveLength(1);
  expect(unannounced(released, {})).toHaveLength(1);
});
