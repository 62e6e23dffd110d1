import { codePointsIn, codePointsOf, complementOf } from './code-points.ts';
import {
  choice,
  codePoints,
  nothing,
  oneOf,
  optional,
  type Pattern,
  repeat,
  rule,
  sequence,
  text,
} from './pattern.ts';

// JSON (RFC 8259) as patterns. Every text is a valid value, and white space is bounded.

/** The largest indentation of a line. */
const MOST_SPACES = 24;
const MOST_TABS = 8;

/** Nothing, a space, or a line break with indentation. */
export const blank: Pattern = optional(
  choice(
    text(' '),
    sequence(text('\n'), choice(repeat(oneOf(' '), 0, MOST_SPACES), repeat(oneOf('\t'), 1, MOST_TABS))),
  ),
);

/** Code points that need no escape in a JSON string. */
export const plainCodePoints = complementOf(codePointsOf([[0, 0x1f], ...codePointsIn('"\\')]));

const hex = oneOf('0123456789abcdefABCDEF');
/** Surrogates are escaped only in pairs. */
const escaped = sequence(
  text('\\'),
  choice(
    oneOf('"\\/bfnrt'),
    sequence(text('u'), oneOf('0123456789abcefABCEF'), repeat(hex, 3, 3)),
    sequence(text('u'), oneOf('dD'), oneOf('01234567'), repeat(hex, 2, 2)),
    sequence(
      text('u'),
      oneOf('dD'),
      oneOf('89abAB'),
      repeat(hex, 2, 2),
      text('\\u'),
      oneOf('dD'),
      oneOf('cdefCDEF'),
      repeat(hex, 2, 2),
    ),
  ),
);
const character = choice(codePoints(plainCodePoints), escaped);

/** A string of `least` to `most` characters. */
export const jsonText = (least = 0, most = Number.POSITIVE_INFINITY): Pattern =>
  sequence(text('"'), repeat(character, least, most), text('"'));

const digit = oneOf('0123456789');
/** The number of digits is bounded, so that a number ends, is finite and survives a round trip. */
const wholeNumber = choice(text('0'), sequence(oneOf('123456789'), repeat(digit, 0, 14)));
export const jsonInteger: Pattern = sequence(optional(text('-')), wholeNumber);
export const jsonNumber: Pattern = sequence(
  jsonInteger,
  optional(sequence(text('.'), repeat(digit, 1, 17))),
  optional(sequence(oneOf('eE'), optional(oneOf('+-')), repeat(digit, 1, 2))),
);
export const jsonBoolean: Pattern = choice(text('true'), text('false'));
export const jsonNull: Pattern = text('null');

/** A member of an object. `key`: a JSON string. */
const member = (key: Pattern, value: Pattern): Pattern => sequence(key, text(':'), blank, value, blank);
const comma = sequence(text(','), blank);

/** So many items, separated by commas. */
const listed = (item: Pattern, least: number, most: number): Pattern => {
  if (most === 0) return nothing;
  const others = repeat(sequence(comma, item), Math.max(0, least - 1), most - 1);
  return least === 0 ? optional(sequence(item, others)) : sequence(item, others);
};

export const jsonMap = (key: Pattern, value: Pattern, least: number, most: number): Pattern =>
  sequence(text('{'), blank, listed(member(key, value), least, most), text('}'));

type Property = { readonly name: string; readonly value: Pattern; readonly isRequired: boolean };

/** An object with these members in this order; optional members may be missing. */
export function jsonObject(properties: readonly Property[]): Pattern {
  let asFirst = nothing; // the members from here on, if no member precedes them
  let asLater = nothing;
  for (const { name, value, isRequired } of properties.toReversed()) {
    const current = member(text(JSON.stringify(name)), value);
    const first = sequence(current, asLater);
    const later = sequence(comma, current, asLater);
    asFirst = isRequired ? first : choice(first, asFirst);
    asLater = isRequired ? later : choice(later, asLater);
  }
  return sequence(text('{'), blank, asFirst, text('}'));
}

/** An array that begins with the items of `first` and continues with `least` to `most` others. */
export function jsonArray(first: readonly Pattern[], other: Pattern, least: number, most: number): Pattern {
  const items = first.map((item) => sequence(item, blank));
  const others = sequence(other, blank);
  const [head, ...tail] = items;
  const body =
    head === undefined
      ? listed(others, least, most)
      : sequence(
          head,
          ...tail.flatMap((item) => [comma, item]),
          repeat(sequence(comma, others), least, most),
        );
  return sequence(text('['), blank, body, text(']'));
}

export const jsonValue: Pattern = rule(() => values);
const unbounded = Number.POSITIVE_INFINITY;
export const anyObject: Pattern = jsonMap(jsonText(), jsonValue, 0, unbounded);
export const anyArray: Pattern = jsonArray([], jsonValue, 0, unbounded);
const values = choice(anyObject, anyArray, jsonText(), jsonNumber, jsonBoolean, jsonNull);
