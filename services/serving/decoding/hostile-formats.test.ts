import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Matcher, MatchState } from '../../../shared/json-grammar/matcher.ts';
import { oneOfTexts } from '../../../shared/json-grammar/pattern.ts';
import { partsOf } from '../../../shared/json-grammar/pattern-budget.ts';
import { matchesWhole } from '../../../shared/json-grammar/testing/read-text.ts';
import type { AnswerFormat } from '../generation.ts';
import { callMatcher } from './call-matcher.ts';
import { createFormatMatchers } from './format-matcher.ts';

const ofSchema = (schema: unknown): Matcher =>
  createFormatMatchers()({ kind: 'schema', schema, param: 'response_format' } as AnswerFormat);
const names = (count: number, prefix = 'n') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

/** A schema that counts how often it is read. */
function countedSchema(): { readonly schema: object; readonly reads: () => number } {
  let reads = 0;
  const schema = {
    get type() {
      reads += 1;
      return 'integer';
    },
  };
  return { schema, reads: () => reads };
}

describe('a schema is read once, however many paths lead to it', () => {
  test('`additionalProperties` of nested objects with required names', () => {
    const { schema, reads } = countedSchema();
    let outer: object = schema;
    for (let level = 0; level < 4; level++)
      outer = { type: 'object', required: names(10, ''), additionalProperties: outer };
    ofSchema(outer);
    expect(reads()).toBeLessThan(50);
  });

  test('references in `allOf` of several schemas', () => {
    const { schema, reads } = countedSchema();
    const last = 12;
    const twice = (at: number) => ({ allOf: [{ $ref: `#/$defs/d${at + 1}` }, {}] });
    const definitions = names(last, 'd').map((name, at) => [
      name,
      { properties: { a: twice(at), b: twice(at) }, required: ['a', 'b'] },
    ]);
    const $defs = { ...Object.fromEntries(definitions), [`d${last}`]: { properties: { z: schema } } };
    ofSchema({ $ref: '#/$defs/d0', $defs });
    expect(reads()).toBeLessThan(50);
  });

  test('`oneOf` of schemas that differ in a required property', () => {
    let reads = 0;
    const branches = names(100).map((name) => ({
      type: 'object',
      properties: {
        is: {
          get const() {
            reads += 1;
            return name;
          },
        },
      },
      required: ['is'],
    }));
    ofSchema({ oneOf: branches });
    expect(reads).toBeLessThan(2_000);
  });
});

test('a schema that contains itself in `allOf` is supported', () => {
  const matcher = ofSchema({
    $ref: '#/$defs/tree',
    $defs: {
      tree: {
        type: 'object',
        properties: { next: { allOf: [{ $ref: '#/$defs/tree' }, {}] } },
      },
    },
  });
  expect(matchesWhole(matcher, '{"next": {"next": {}}}')).toBe(true);
});

const range = { type: 'number', minimum: -123.123456789012, maximum: 9876.123456789021 };
test.each([
  ['number ranges', { type: 'array', prefixItems: names(500).map(() => ({ ...range })) }],
  [
    'patterns of texts',
    {
      type: 'array',
      prefixItems: names(100).map((name) => ({
        type: 'string',
        pattern: `^${name}${'[^"]\\n'.repeat(600)}$`,
      })),
    },
  ],
  [
    'properties',
    {
      type: 'array',
      prefixItems: names(40).map(() => ({
        type: 'object',
        properties: Object.fromEntries(names(900).map((name) => [name, true])),
      })),
    },
  ],
  [
    'pairs of `oneOf`',
    {
      oneOf: names(500).map((_, at) => ({
        type: 'object',
        properties: Object.fromEntries(names(40).map((name) => [name, { const: name === 'n39' ? at : 1 }])),
        required: names(40),
      })),
    },
  ],
])('a schema with too many %s is refused with its reason', (_, schema) => {
  expect(() => ofSchema(schema)).toThrow(
    expect.objectContaining({
      status: 400,
      param: 'response_format',
      message: expect.stringContaining('it expands to more than 100000 parts'),
    }),
  );
});

test('the schemas of all tools share one budget; beyond it, arguments are any object', () => {
  const { schema, reads } = countedSchema();
  const tools = names(500).map((name) => ({
    written: `"${name}", "arguments":`,
    parameters: {
      type: 'object',
      properties: { ...Object.fromEntries(names(50).map((own) => [own, { ...range }])), last: schema },
    },
  }));
  const matcher = callMatcher({ tools });
  expect(reads()).toBeLessThan(50);
  expect(matchesWhole(matcher, '"n499", "arguments":{"any": 1}')).toBe(true);
});

test('the size of a pattern of texts with shared beginnings grows with the number of texts', () => {
  const partsFor = (count: number) => partsOf(oneOfTexts(names(count).map((_, at) => 'a'.repeat(at + 1))));
  expect(partsFor(200) / partsFor(100)).toBeLessThan(2.2);
});

test('the cache also drops places between code points', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const heapAfter = (codePoints: number): number => {
    const format = { kind: 'regex', regex: `(?:x${'()'.repeat(1_900)}){1,10000}`, param: 'guided_regex' };
    const matcher = createFormatMatchers()(format as AnswerFormat);
    let state: MatchState | undefined = matcher.start;
    for (let codePoint = 0; codePoint < codePoints; codePoint++) {
      matcher.beginToken();
      state = matcher.next(state!, 120);
    }
    collect();
    expect(state).toBeDefined();
    return process.memoryUsage().heapUsed;
  };
  const before = heapAfter(1);
  expect((heapAfter(200) - before) / 2 ** 20).toBeLessThan(150);
});

test('searching a set of a thousand ranges costs about the same as a single range', () => {
  const characters = Array.from({ length: 900 }, (_, at) => String.fromCodePoint(0x400 + 2 * at)).join('');
  const timeOf = (set: string): number => {
    const format = { kind: 'regex', regex: `(?:[${set}]?){100}z`, param: 'guided_regex' };
    const matcher = createFormatMatchers()(format as AnswerFormat);
    const { user } = process.cpuUsage();
    for (let codePoint = 0; codePoint < 20_000; codePoint++) {
      matcher.beginToken();
      matcher.next(matcher.start, 0x1_0000 + codePoint);
    }
    return process.cpuUsage().user - user;
  };
  timeOf('ab');
  expect(timeOf(characters) / timeOf('ab')).toBeLessThan(20);
});
