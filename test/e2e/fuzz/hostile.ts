import fc from 'fast-check';

/** Pieces that patterns, parsers and tokenizers tend to read repeatedly. */
export const hostilePieces = [
  'a',
  ' ',
  '\n',
  '-',
  '>',
  "'",
  '"',
  '„',
  ' ‘',
  '`',
  '```\n',
  '\\',
  '{',
  '[',
  '<',
  '<system-reminder>',
  '<think>',
  '<tool_call>',
  '<|im_end|>',
  'a\n\n\n',
  'no. ',
  'no, that is wrong. ',
  'AKIA',
  'password is ',
  'eyJ.',
  '4111 ',
  'é',
  '\u200b',
  '👩‍👩‍👧‍👦',
  'ﷺ',
  '字',
  '{% for %}',
  'Error: ',
] as const;

const name = fc.constantFrom('a', 'b', 'c', 'properties', '__proto__', 'constructor', '$ref', '');

/** Small JSON schemas that expand to large ones. */
export const hostileSchema: fc.Arbitrary<unknown> = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(
      {},
      true,
      { type: 'string' },
      { type: 'integer' },
      { $ref: '#' },
      { $ref: '#/$defs/d0' },
    ),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(name, tie('schema'), { maxKeys: 4 }),
      required: fc.array(fc.string({ maxLength: 4 }), { maxLength: 40 }),
      additionalProperties: tie('schema'),
    }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 2, maxLength: 6 }) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 2, maxLength: 12 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 2, maxLength: 12 }) }),
    fc.record({
      type: fc.constant('array'),
      items: tie('schema'),
      minItems: fc.nat({ max: 1e9 }),
      maxItems: fc.nat({ max: 1e9 }),
    }),
    fc.record({
      type: fc.constant('string'),
      pattern: fc.constantFrom(
        '(a+)+$',
        '(a|a)*b',
        '((a{1,100}){1,100}){1,100}',
        '[\\s\\S]{100000}',
        '(?=a)b',
        '\\p{L}{5000}',
        '(a?){5000}a{5000}',
        '^(([a-z])+.)+[A-Z]([a-z])+$',
      ),
      minLength: fc.nat({ max: 1e9 }),
    }),
    fc.record({ type: fc.constant('number'), minimum: fc.double(), maximum: fc.double() }),
    fc.record({ enum: fc.array(fc.string(), { maxLength: 200 }) }),
  ),
})).schema;

/** Two schemas of a kilobyte that expand without limit, to a chosen depth. */
export const unfoldingSchema: fc.Arbitrary<unknown> = fc.oneof(
  fc
    .record({ depth: fc.integer({ min: 1, max: 12 }), names: fc.integer({ min: 1, max: 30 }) })
    .map(nestedRequired),
  fc.integer({ min: 1, max: 40 }).map(doubledDefinitions),
);

function nestedRequired({ depth, names }: { readonly depth: number; readonly names: number }): unknown {
  const required = Array.from({ length: names }, (_, index) => `n${index}`);
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < depth; level++)
    schema = { type: 'object', required, additionalProperties: schema };
  return schema;
}

function doubledDefinitions(count: number): unknown {
  const definition = (next: unknown) => ({
    allOf: [
      { type: 'object', properties: { a: next }, required: ['a'] },
      { type: 'object', properties: { b: next }, required: ['b'] },
    ],
  });
  const definitions = Array.from({ length: count }, (_, index) => [
    `d${index}`,
    index + 1 === count ? { type: 'string' } : definition({ $ref: `#/$defs/d${index + 1}` }),
  ]);
  return { $ref: '#/$defs/d0', $defs: Object.fromEntries(definitions) };
}
