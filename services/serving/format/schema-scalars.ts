import { jsonInteger, jsonNumber, jsonText } from './json-patterns.ts';
import { integersIn, LARGEST, type NumberRange, numbersIn } from './number-range.ts';
import { lengthOf, never, oneOfTexts, type Pattern } from './pattern.ts';
import { partsOf } from './pattern-budget.ts';
import { isFault, regexPattern } from './regex-pattern.ts';
import { typeOfValue } from './schema-apart.ts';
import type { Schema } from './schema-keywords.ts';
import { alone, type Place, refuse } from './schema-place.ts';
import { formatPattern, quoted } from './string-patterns.ts';

// What a schema says of values that hold no others.

/** Each of them is small; a budget bounds how many a schema has. */
const paid = <Made extends Pattern>(made: Made, { budget }: Place): Made => {
  budget.spend(partsOf(made));
  return made;
};

/** Of `enum` and `const`. */
export function valuesOf(schema: Schema, values: readonly unknown[], place: Place): Pattern {
  alone(schema, place, schema.enum === undefined ? 'const' : 'enum', 'type', 'format', 'const');
  if (schema.enum !== undefined && Object.hasOwn(schema, 'const'))
    refuse(place, '`const` beside `enum` is not supported');
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const fits = (value: unknown) => types?.some((type) => typeOfValue(value, type)) ?? true;
  return paid(oneOfTexts(values.filter(fits).map((value) => JSON.stringify(value))), place);
}

export function textOf(schema: Schema, place: Place): Pattern {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const ofFormat = format === undefined ? undefined : formatPattern(format);
  if (pattern === undefined && ofFormat === undefined)
    return minLength > maxLength ? never : jsonText(minLength, maxLength);
  // what a format's expression looks around for is what the format is
  const looksAround = pattern !== undefined && ofFormat !== undefined && /\(\?<?[=!]/.test(pattern);
  const told = pattern === undefined || looksAround ? ofFormat! : expression(pattern, place);
  const held = ofLength(told, minLength, maxLength);
  const { least, most } = lengthOf(held);
  const name = pattern === undefined ? 'format' : 'pattern';
  if (minLength > least)
    refuse(place, `\`minLength\` beyond what \`${name}\` itself asks for is not supported`);
  if (maxLength < most) refuse(place, `\`maxLength\` below what \`${name}\` itself allows is not supported`);
  return paid(quoted(held), place);
}

/** Letters of one kind, so many of them, can be fewer or more. */
function ofLength(told: Pattern, minLength: number, maxLength: number): Pattern {
  if (told.kind !== 'repeat') return told;
  const { least, most } = lengthOf(told.of);
  if (least !== 1 || most !== 1) return told;
  return { ...told, least: Math.max(told.least, minLength), most: Math.min(told.most, maxLength) };
}

export function expression(source: string, place: Place): Pattern {
  const made = regexPattern(source, false);
  return isFault(made) ? refuse(place, `\`pattern\` cannot be held: ${made.fault}`) : paid(made, place);
}

export function numberOf(schema: Schema, type: 'number' | 'integer', place: Place): Pattern {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const isWhole = type === 'integer' || multipleOf === 1;
  if (multipleOf !== undefined && multipleOf !== 1)
    refuse(place, '`multipleOf` other than 1 is not supported');
  const from = bound(minimum, exclusiveMinimum, (one, other) => one > other);
  const to = bound(maximum, exclusiveMaximum, (one, other) => one < other);
  if (from === undefined && to === undefined) return isWhole ? jsonInteger : jsonNumber;
  const range: NumberRange = { from, to };
  if ((from?.value ?? 0) > LARGEST || (to?.value ?? 0) < -LARGEST)
    refuse(place, '`minimum` and `maximum` beyond 2^53 are not supported');
  const made = isWhole ? integersIn(range) : numbersIn(range);
  if (made === undefined)
    return refuse(place, '`minimum` and `maximum` with more than 12 decimals are not supported');
  return paid(made, place);
}

/** The narrower one of two bounds. */
function bound(
  value: number | undefined,
  exclusive: number | undefined,
  isNarrower: (one: number, other: number) => boolean,
): NumberRange['from'] {
  if (exclusive !== undefined && (value === undefined || !isNarrower(value, exclusive)))
    return { value: exclusive, isExclusive: true };
  return value === undefined ? undefined : { value, isExclusive: false };
}
