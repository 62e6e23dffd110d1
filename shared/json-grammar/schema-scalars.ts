import { isGrammarError } from './grammar-error.ts';
import { jsonInteger, jsonNumber, jsonText } from './json-patterns.ts';
import { integersIn, LARGEST, type NumberRange, numbersIn } from './number-range.ts';
import { lengthOf, never, oneOfTexts, type Pattern } from './pattern.ts';
import { partsOf } from './pattern-budget.ts';
import { regexPattern } from './regex-pattern.ts';
import { hasType } from './schema-apart.ts';
import type { Schema } from './schema-keywords.ts';
import { alone, type Place, refuse } from './schema-place.ts';
import { formatPattern, quoted } from './string-patterns.ts';

// Patterns of values without members.

/** Charges the budget for a pattern. */
const paid = (pattern: Pattern, { budget }: Place): Pattern => {
  budget.spend(partsOf(pattern));
  return pattern;
};

/** The listed values of `enum` or `const`. */
export function valuesOf(schema: Schema, values: readonly unknown[], place: Place): Pattern {
  alone(schema, place, schema.enum === undefined ? 'const' : 'enum', 'type', 'format', 'const');
  if (schema.enum !== undefined && Object.hasOwn(schema, 'const'))
    refuse(place, '`const` beside `enum` is not supported');
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const fits = (value: unknown) => types?.some((type) => hasType(value, type)) ?? true;
  return paid(oneOfTexts(values.filter(fits).map((value) => JSON.stringify(value))), place);
}

export function textOf(schema: Schema, place: Place): Pattern {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  const ofFormat = format === undefined ? undefined : formatPattern(format);
  if (pattern === undefined && ofFormat === undefined)
    return minLength > maxLength ? never : jsonText(minLength, maxLength);
  // with a known format, the look-arounds of the pattern only repeat the format
  const looksAround = pattern !== undefined && ofFormat !== undefined && /\(\?<?[=!]/.test(pattern);
  const unbounded = pattern === undefined || looksAround ? ofFormat! : expression(pattern, place);
  const bounded = withLength(unbounded, minLength, maxLength);
  const { least, most } = lengthOf(bounded);
  const name = pattern === undefined ? 'format' : 'pattern';
  if (minLength > least)
    refuse(place, `\`minLength\` above the minimum length of \`${name}\` is not supported`);
  if (maxLength < most)
    refuse(place, `\`maxLength\` below the maximum length of \`${name}\` is not supported`);
  return paid(quoted(bounded), place);
}

/** Applies length limits to a repetition of single code points; other patterns stay as they are. */
function withLength(pattern: Pattern, minLength: number, maxLength: number): Pattern {
  if (pattern.kind !== 'repeat') return pattern;
  const { least, most } = lengthOf(pattern.of);
  if (least !== 1 || most !== 1) return pattern;
  return {
    ...pattern,
    least: Math.max(pattern.least, minLength),
    most: Math.min(pattern.most, maxLength),
  };
}

export function expression(source: string, place: Place): Pattern {
  let pattern: Pattern;
  try {
    pattern = regexPattern(source, false);
  } catch (error) {
    if (isGrammarError(error)) return refuse(place, `\`pattern\` is not supported: ${error.reason}`);
    throw error;
  }
  return paid(pattern, place);
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

/** The narrower of an inclusive and an exclusive bound. */
function bound(
  value: number | undefined,
  exclusive: number | undefined,
  isNarrower: (one: number, other: number) => boolean,
): NumberRange['from'] {
  if (exclusive !== undefined && (value === undefined || !isNarrower(value, exclusive)))
    return { value: exclusive, isExclusive: true };
  return value === undefined ? undefined : { value, isExclusive: false };
}
