import { expect, test } from 'vitest';
import { z } from 'zod';
import { createRandom } from '../policy/model/random.ts';
import { grammarError } from './grammar-error.ts';
import { createMatcher, type Matcher } from './matcher.ts';
import { withoutDeadEnds } from './pattern.ts';
import { schemaPattern } from './schema-pattern.ts';
import { anySchema, anyText } from './testing/random-schemas.ts';
import { matchesWhole as takes } from './testing/read-text.ts';

function ofSchema(schema: unknown): Matcher {
  const pattern = withoutDeadEnds(schemaPattern(schema));
  if (pattern === undefined) throw grammarError('no answer can match this format');
  return createMatcher(pattern);
}

test('every generated text is a value of its schema', () => {
  const random = createRandom('schemas');
  for (let count = 0; count < 300; count++) {
    const schema = anySchema(random, 3);
    const reader = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    for (let time = 0; time < 10; time++) {
      const text = anyText(ofSchema(schema), random);
      if (text === undefined) continue; // it did not end
      const read = reader.safeParse(JSON.parse(text));
      expect(read.success, `${JSON.stringify(schema)}: ${text}`).toBe(true);
    }
  }
});

test.each([
  [
    { type: 'string' },
    ['""', '"a"', '"\\u00e9\\n"', '"\\ud83d\\ude00"'],
    ['"\n"', '"\\ud83d"', '"a', 'a', '"" '],
  ],
  [{}, ['{"a": [1, {}], "b":\n  null}', '-0.5e10', '[]'], ['{"a"}', '[1,]', '01', '{"a":  1}', '1e999']],
  [{ type: 'object' }, ['{}', '{"a":1}'], ['[]', 'null']],
  [
    { type: 'object', properties: { a: { type: 'integer' }, b: {}, c: {} }, required: ['b'] },
    ['{"b": 1}', '{"a": 1, "b": 1, "c": 1}', '{"b":1,"c":1}'],
    ['{}', '{"a": 1}', '{"b": 1, "a": 1}', '{"b":1,"d":1}', '{"a": 1.5, "b": 1}', '{,"b":1}'],
  ],
  [{ type: 'object', required: ['x'] }, ['{"x":1}'], ['{}']],
  [
    { type: 'array', items: { type: 'null' }, minItems: 1, maxItems: 2 },
    ['[null]', '[null, null]'],
    ['[]', '[null,null,null]'],
  ],
  [
    { type: 'string', minLength: 2, maxLength: 3 },
    ['"ab"', '"a\\n"', '"😀😀😀"'],
    ['"a"', '"abcd"', '"\t\t"'],
  ],
  [{ type: 'string', pattern: 'b' }, ['"abc"', '"b"'], ['"a"']],
  [{ type: 'string', pattern: '^a"\\n[^x]$' }, ['"a\\"\\nb"'], ['"a"\\nb"', '"a\\"\\nx"']],
  [{ enum: ['a', { b: [1] }, 2] }, ['"a"', '{"b":[1]}', '2'], ['"b"', '"']],
  [{ type: ['integer', 'null'] }, ['3', 'null'], ['3.5', '"3"']],
  [
    {
      $ref: '#/$defs/a',
      $defs: { a: { anyOf: [{ type: 'null' }, { type: 'array', items: { $ref: '#/$defs/a' } }] } },
    },
    ['[[null], []]'],
    ['[1]'],
  ],
  [{ type: 'object', properties: { a: false, b: {} } }, ['{"b":1}', '{}'], ['{"a":1}']],
  [
    { type: 'string', pattern: '^[a-c]+$', minLength: 2, maxLength: 3 },
    ['"ab"', '"abc"'],
    ['"a"', '"abca"', '"xy"'],
  ],
  [
    {
      allOf: [{ $ref: '#/$defs/a' }, { properties: { b: {} }, required: ['b'] }],
      $defs: { a: { type: 'object', properties: { a: {} }, required: ['a'] } },
    },
    ['{"a":1,"b":2}'],
    ['{"a":1}', '{"b":2}', '{"a":1,"b":2,"c":3}'],
  ],
])('%j accepts its values and no others', (schema, texts, others) => {
  const matcher = ofSchema(schema);
  expect(texts.filter((text) => !takes(matcher, text))).toEqual([]);
  expect(others.filter((text) => takes(matcher, text))).toEqual([]);
});

test('an integer range accepts exactly the integers within it', () => {
  for (const [minimum, maximum] of [
    [3, 120],
    [-30, 17],
    [-120, -99],
    [0, 0],
    [-1, 1],
    [99, 1001],
  ] as const) {
    const matcher = ofSchema({ type: 'integer', minimum, maximum });
    for (let value = -1_100; value <= 1_100; value++)
      expect(takes(matcher, String(value)), `${value} of ${minimum} to ${maximum}`).toBe(
        value >= minimum && value <= maximum,
      );
  }
});

test('a number range accepts the numbers between its bounds', () => {
  const ranges = [
    { minimum: 0.5, maximum: 1.5 },
    { exclusiveMinimum: 0, exclusiveMaximum: 1 },
    { minimum: -0.25, maximum: 3 },
  ];
  for (const range of ranges) {
    const matcher = ofSchema({ type: 'number', ...range });
    const reader = z.fromJSONSchema({ type: 'number', ...range });
    for (let value = -4_000; value <= 4_000; value++) {
      const text = String(value / 1_000);
      expect(takes(matcher, text), `${text} of ${JSON.stringify(range)}`).toBe(
        reader.safeParse(Number(text)).success,
      );
    }
  }
});

test.each([
  [{ not: {} }, '`not`'],
  [{ type: 'array', uniqueItems: true }, '`uniqueItems`'],
  [{ type: 'array', contains: {} }, '`contains`'],
  [{ type: 'integer', multipleOf: 5 }, '`multipleOf`'],
  [{ type: 'object', minProperties: 2 }, '`minProperties`'],
  [{ type: 'object', properties: { a: {} }, patternProperties: { '^x': {} } }, '`patternProperties`'],
  [{ type: 'object', properties: { a: {}, b: {} }, dependentRequired: { a: ['b'] } }, '`dependentRequired`'],
  [{ oneOf: [{ type: 'integer' }, { type: 'number' }] }, '`oneOf`'],
  [{ allOf: [{ type: 'object' }, { minLength: 2 }] }, '`minLength`'],
  [{ allOf: [{ type: 'string' }, { type: 'string' }] }, '`allOf`'],
  [{ allOf: [{ properties: { a: {} } }, { properties: { a: {} } }] }, 'twice'],
  [{ allOf: [{ properties: { a: {} }, additionalProperties: false }, { required: ['b'] }] }, 'additional'],
  [{ allOf: [{ required: ['b'], additionalProperties: { type: 'number' } }, {}] }, '`additionalProperties`'],
  [{ allOf: [{ type: 'object', additionalProperties: false }, {}] }, '`additionalProperties`'],
  [
    {
      allOf: [
        { properties: { a: {} }, additionalProperties: false },
        { required: ['b'], properties: { b: {} } },
      ],
    },
    '`additionalProperties`',
  ],
  [{ $ref: '#/$defs/a', maxLength: 3, $defs: { a: { type: 'string' } } }, '`maxLength` beside `$ref`'],
  [{ $ref: 'https://example.com/a' }, '`$ref`'],
  [{ type: 'string', pattern: '^a+b$', maxLength: 3 }, '`maxLength`'],
  [{ type: 'string', pattern: '(?<=a)b' }, '`pattern`'],
  [{ type: 'number', minimum: 1e300 }, '`minimum`'],
  [{ properties: { a: { items: { if: {} } } } }, '#/properties/a/items'],
  [{ type: 'text' }, '#/type'],
  [{ type: 'string', maxLength: 0.5 }, '#/maxLength'],
  [{ enum: [] }, '#/enum'],
  [{ type: 'array', minItems: 2, maxItems: 1 }, 'no answer'],
  [{ type: 'integer', exclusiveMinimum: Number.MAX_SAFE_INTEGER }, 'no answer'],
  [{ type: 'number', exclusiveMaximum: Number.MIN_SAFE_INTEGER }, 'no answer'],
  [false, 'no answer'],
])('%j is refused, and the error says why', (schema, why) => {
  expect(() => ofSchema(schema)).toThrow(
    expect.objectContaining({ name: 'GrammarError', message: expect.stringContaining(why) }),
  );
});

test('schemas that zod writes for common types are supported', () => {
  const common = z.object({
    mail: z.email(),
    id: z.uuid(),
    at: z.iso.datetime(),
    day: z.iso.date(),
    link: z.url(),
    address: z.ipv4(),
    age: z.int().positive(),
    share: z.number().min(0).max(1),
    kind: z.discriminatedUnion('is', [
      z.object({ is: z.literal('cat'), lives: z.int() }),
      z.object({ is: z.literal('dog') }),
    ]),
    tags: z.record(z.string(), z.boolean()),
    rest: z.record(z.enum(['p', 'q']), z.string()),
    pair: z.tuple([z.string(), z.number().nullable()]),
    some: z.string().optional(),
  });
  const random = createRandom('zod');
  const matcher = ofSchema(z.toJSONSchema(common));
  const found = Array.from({ length: 40 }, () => anyText(matcher, random)).filter(
    (text) => text !== undefined,
  );
  expect(found.length).toBeGreaterThan(5);
  for (const text of found) expect(common.safeParse(JSON.parse(text)), text).toMatchObject({ success: true });
});
