import { lettersIn, lettersOf, othersThan } from './letters.ts';
import {
  choice,
  letters,
  nothing,
  oneOf,
  optional,
  type Pattern,
  repeat,
  rule,
  sequence,
  text,
} from './pattern.ts';

// JSON (RFC 8259) as patterns: what is written of it is always a value, and no white space goes on for ever.

/** Columns that a line can be indented by, and tabs. */
const MOST_SPACES = 24;
const MOST_TABS = 8;

/** A space, or a new line and its indentation, or nothing. */
export const blank: Pattern = optional(
  choice(
    text(' '),
    sequence(text('\n'), choice(repeat(oneOf(' '), 0, MOST_SPACES), repeat(oneOf('\t'), 1, MOST_TABS))),
  ),
);

/** Letters that stand for themselves in a text. */
export const plainLetters = othersThan(lettersOf([[0, 0x1f], ...lettersIn('"\\')]));

const hex = oneOf('0123456789abcdefABCDEF');
/** Of escapes by number, those of surrogates come in pairs. */
const escaped = sequence(
  text('\\'),
  choice(
    oneOf('"\\/bfnrt'),
    sequence(text('u'), oneOf('0123456789abcefABCEF'), repeat(hex, 3, 3)),
    sequence(text('u'), oneOf('dD'), oneOf('01234567'), repeat(hex, 2, 2)),
    sequence(
      ...[text('u'), oneOf('dD'), oneOf('89abAB'), repeat(hex, 2, 2)],
      ...[text('\\u'), oneOf('dD'), oneOf('cdefCDEF'), repeat(hex, 2, 2)],
    ),
  ),
);
const character = choice(letters(plainLetters), escaped);

/** A text of so many characters. */
export const jsonText = (least = 0, most = Number.POSITIVE_INFINITY): Pattern =>
  sequence(text('"'), repeat(character, least, most), text('"'));

const digit = oneOf('0123456789');
/** Digits are bounded, so that a number ends, is finite, and is read as it is written. */
const whole = choice(text('0'), sequence(oneOf('123456789'), repeat(digit, 0, 14)));
export const jsonInteger: Pattern = sequence(optional(text('-')), whole);
export const jsonNumber: Pattern = sequence(
  jsonInteger,
  optional(sequence(text('.'), repeat(digit, 1, 17))),
  optional(sequence(oneOf('eE'), optional(oneOf('+-')), repeat(digit, 1, 2))),
);
export const jsonBoolean: Pattern = choice(text('true'), text('false'));
export const jsonNull: Pattern = text('null');

/** A member of an object. `key`: a JSON text. */
const member = (key: Pattern, value: Pattern): Pattern => sequence(key, text(':'), blank, value, blank);
const comma = sequence(text(','), blank);

/** So many of these, between commas. */
const listed = (one: Pattern, least: number, most: number): Pattern => {
  if (most === 0) return nothing;
  const others = repeat(sequence(comma, one), Math.max(0, least - 1), most - 1);
  return least === 0 ? optional(sequence(one, others)) : sequence(one, others);
};

export const jsonMap = (key: Pattern, value: Pattern, least: number, most: number): Pattern =>
  sequence(text('{'), blank, listed(member(key, value), least, most), text('}'));

export type Property = { readonly name: string; readonly value: Pattern; readonly isRequired: boolean };

/** An object with these members in this order, without those that are left out. */
export function jsonObject(properties: readonly Property[]): Pattern {
  let asFirst = nothing; // the members from here on, where none stands before
  let asLater = nothing;
  for (const { name, value, isRequired } of properties.toReversed()) {
    const one = member(text(JSON.stringify(name)), value);
    const first = sequence(one, asLater);
    const later = sequence(comma, one, asLater);
    asFirst = isRequired ? first : choice(first, asFirst);
    asLater = isRequired ? later : choice(later, asLater);
  }
  return sequence(text('{'), blank, asFirst, text('}'));
}

/** An array that begins with these and goes on with so many others. */
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

/** Any value. */
export const jsonValue: Pattern = rule(() => values);
const unbounded = Number.POSITIVE_INFINITY;
export const anyObject: Pattern = jsonMap(jsonText(), jsonValue, 0, unbounded);
export const anyArray: Pattern = jsonArray([], jsonValue, 0, unbounded);
const values = choice(anyObject, anyArray, jsonText(), jsonNumber, jsonBoolean, jsonNull);
