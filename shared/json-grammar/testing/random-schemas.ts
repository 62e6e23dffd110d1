import type { Random } from '../../policy/model/random.ts';
import { plainCodePoints } from '../json-patterns.ts';
import type { Matcher, MatchState } from '../matcher.ts';

// Random schemas and texts, for tests.

const pick = <One>(random: Random, all: readonly One[]): One => all[Math.floor(random() * all.length)]!;
const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1));

/** A small supported schema with short documents. */
export function anySchema(random: Random, depth = 2): object {
  const inner = (): object => anySchema(random, depth - 1);
  const plain = [
    () => ({ type: 'string', maxLength: 1 + upTo(random, 8) }),
    () => ({ type: 'string', minLength: 2, maxLength: 4 }),
    () => ({
      type: 'string',
      pattern: pick(random, ['^[a-z]{2,5}$', '^(a|"b\\\\)+c{0,3}$', '^[^0-9]{1,3}$', '^\\d{3}-\\w$']),
    }),
    () => ({ type: 'integer', minimum: -upTo(random, 30), maximum: upTo(random, 300) }),
    () => ({ type: 'number', minimum: -1.25, exclusiveMaximum: pick(random, [0, 0.5, 17]) }),
    () => ({ enum: ['red', 'green', 'gr"ey', 3, null, true].slice(upTo(random, 3)) }),
    () => ({ type: pick(random, ['boolean', 'null', ['null', 'boolean'], ['integer', 'null']]) }),
    () => ({ const: pick(random, ['x', 7, 'ä😀']) }),
  ];
  const nested = [
    () => {
      const names = ['a', 'b b', 'c"', 'dé'].slice(0, 1 + upTo(random, 3));
      return {
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, inner()])),
        required: names.filter(() => random() < 0.6),
        additionalProperties: false,
      };
    },
    () => ({ type: 'array', items: inner(), minItems: upTo(random, 1), maxItems: 1 + upTo(random, 2) }),
    () => ({ type: 'array', prefixItems: [inner(), inner()], items: false, minItems: 2 }),
    () => ({ anyOf: [inner(), inner()] }),
    () => ({
      type: 'object',
      propertyNames: { pattern: '^k[0-9]$' },
      additionalProperties: inner(),
      maxProperties: 2,
    }),
    () => ({
      oneOf: [
        { type: 'array', items: inner(), maxItems: 1 },
        { type: 'string', maxLength: 3 },
      ],
    }),
  ];
  return pick(random, depth > 0 ? [...plain, ...nested, ...nested] : plain)();
}

/** A random text of the pattern; undefined if it did not end within `most` code points. */
export function anyText(matcher: Matcher, random: Random, most = 2_000): string | undefined {
  let state: MatchState = matcher.start;
  let text = '';
  for (let count = 0; count < most; count++) {
    matcher.beginToken();
    if (state.canEnd && (state.places.length === 0 || random() < 0.3)) return text;
    const codePoint = anyCodePointAt(state, random);
    state = matcher.next(state, codePoint)!;
    text += String.fromCodePoint(codePoint);
  }
  return undefined;
}

function anyCodePointAt({ places }: MatchState, random: Random): number {
  const { pattern, at } = pick(random, places);
  if (pattern.kind === 'text') return pattern.codePoints[at]!;
  if (pattern.kind !== 'codePoints') throw new Error('a place must have code points');
  if (pattern.set === plainCodePoints && random() < 0.8) return 0x61;
  const [first, last] = pick(random, pattern.set);
  return random() < 0.5 ? first : Math.min(last, first + upTo(random, 90));
}
