import { anyLetter, common, type Letters, lettersIn, lettersOf, othersThan } from './letters.ts';
import { choice, letters, nothing, type Pattern, repeat, sequence } from './pattern.ts';

const digits = lettersOf([[0x30, 0x39]]);
const words = lettersOf([...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]);
const spaces = lettersIn(
  ' \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a',
);
const lineEnds = lettersIn('\n\r\u2028\u2029');

const classes: Readonly<Record<string, Letters>> = {
  ...{ d: digits, D: othersThan(digits), w: words, W: othersThan(words) },
  ...{ s: spaces, S: othersThan(spaces) },
};
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' };

/** Rounds that a quantifier can ask for, and letters that an expression can have. */
const MOST_ROUNDS = 10_000;
const LONGEST = 4_000;

/** Why an expression is none, or none that can be held. */
export type RegexFault = { readonly fault: string };
export const isFault = (made: Pattern | RegexFault): made is RegexFault => 'fault' in made;

type Reader = { readonly source: string; at: number; depth: number };

const NOT_HELD = 'NotHeld';
const refuse = (what: string): never => {
  throw Object.assign(new Error(what), { name: NOT_HELD });
};

/**
 * A regular expression (ECMA-262, with the flag `u`) as a pattern. `isWhole`: a text has to match as a whole;
 * else an expression without `^` or `$` lets anything stand around it, as JSON
 * Schema has it. Anchors stand at the ends alone; there are no look-arounds, references or properties.
 */
export function regexPattern(source: string, isWhole: boolean): Pattern | RegexFault {
  if (source.length > LONGEST) return { fault: `it is longer than ${LONGEST} letters` };
  try {
    new RegExp(source, 'u');
  } catch (error) {
    return { fault: (error as Error).message.slice(0, 200) };
  }
  const reader: Reader = { source, at: 0, depth: 0 };
  try {
    return alternatives(reader, isWhole ? nothing : repeat(letters(anyLetter), 0));
  } catch (error) {
    const { name, message } = error as Error;
    if (name === NOT_HELD) return { fault: message };
    throw error;
  }
}

const take = (reader: Reader, expected: string): boolean => {
  const found = reader.source.startsWith(expected, reader.at);
  if (found) reader.at += expected.length;
  return found;
};

/** `around`: what may stand at an end without an anchor; undefined: anchors are refused here. */
function alternatives(reader: Reader, around: Pattern | undefined): Pattern {
  if (++reader.depth > 50) refuse('groups are nested too deep');
  const found: Pattern[] = [];
  do {
    const isAnchored = around !== undefined && take(reader, '^');
    const parts: Pattern[] = [];
    let isEnded = false;
    while (reader.at < reader.source.length && !/[|)]/.test(reader.source[reader.at]!)) {
      if (isEnded) refuse('`$` stands amid it');
      if (around !== undefined && take(reader, '$')) isEnded = true;
      else parts.push(quantified(reader));
    }
    found.push(
      sequence(
        ...(around === undefined || isAnchored ? [] : [around]),
        ...parts,
        ...(around === undefined || isEnded ? [] : [around]),
      ),
    );
  } while (take(reader, '|'));
  reader.depth--;
  return choice(...found);
}

function quantified(reader: Reader): Pattern {
  const one = atom(reader);
  const [found, symbol, least, comma, most] =
    /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(reader.source.slice(reader.at)) ?? [];
  if (found === undefined) return one;
  reader.at += found.length;
  if (symbol !== undefined) return repeat(one, symbol === '+' ? 1 : 0, symbol === '?' ? 1 : undefined);
  const from = Number(least);
  const to = comma === '' ? from : most === '' ? Number.POSITIVE_INFINITY : Number(most);
  if (from > MOST_ROUNDS || (to > MOST_ROUNDS && to !== Number.POSITIVE_INFINITY))
    refuse(`\`${found}\` asks for more than ${MOST_ROUNDS} rounds`);
  return repeat(one, from, to);
}

function atom(reader: Reader): Pattern {
  const letter = String.fromCodePoint(reader.source.codePointAt(reader.at)!);
  switch (letter) {
    case '(':
      return group(reader);
    case '[':
      return letters(classSet(reader));
    case '.':
      reader.at++;
      return letters(othersThan(lineEnds));
    case '\\':
      return letters(escaped(reader));
    case '^':
    case '$':
      return refuse(`\`${letter}\` stands amid it`);
    default:
      reader.at += letter.length;
      return letters(lettersIn(letter));
  }
}

function group(reader: Reader): Pattern {
  const [opening] = /^\((?:\?(?::|<(?![=!])[^>]+>))?/.exec(reader.source.slice(reader.at))!;
  if (reader.source.startsWith('(?', reader.at) && opening === '(')
    refuse(
      `\`${reader.source.slice(reader.at, reader.at + 4)}\` is not supported: look-arounds and flags are not`,
    );
  reader.at += opening.length;
  const inner = alternatives(reader, undefined);
  take(reader, ')');
  return inner;
}

/** One escape, outside of a class or in one. */
function escaped(reader: Reader): Letters {
  const rest = reader.source.slice(reader.at, reader.at + 12);
  const name = rest[1]!;
  const number = /^\\(?:x([\da-fA-F]{2})|u\{([\da-fA-F]+)\}|u([\da-fA-F]{4}))/.exec(rest);
  const known = classes[name];
  if (number !== null) {
    reader.at += number[0].length;
    const letter = Number.parseInt(number[1] ?? number[2] ?? number[3]!, 16);
    if (letter >= 0xd800 && letter <= 0xdfff) refuse(`\`${number[0]}\` is half a letter`);
    return lettersOf([[letter, letter]]);
  }
  reader.at += 2;
  if (known !== undefined) return known;
  if (Object.hasOwn(controls, name)) return lettersIn(controls[name]!);
  if (/[a-zA-Z1-9]/.test(name)) refuse(`\`\\${name}\` is not supported`);
  return lettersIn(name);
}

function classSet(reader: Reader): Letters {
  reader.at++;
  const isNegated = take(reader, '^');
  const ranges: (readonly [number, number])[] = [];
  const one = (): Letters => {
    if (reader.source.startsWith('\\b', reader.at)) {
      reader.at += 2;
      return lettersIn('\b');
    }
    if (reader.source[reader.at] === '\\') return escaped(reader);
    const letter = String.fromCodePoint(reader.source.codePointAt(reader.at)!);
    reader.at += letter.length;
    return lettersIn(letter);
  };
  while (!take(reader, ']')) {
    const first = one();
    if (!/^-[^\]]/.test(reader.source.slice(reader.at, reader.at + 2))) {
      ranges.push(...first);
      continue;
    }
    reader.at++;
    const last = one();
    ranges.push([first[0]![0], last[0]![0]]);
  }
  const set = lettersOf(ranges);
  return common(isNegated ? othersThan(set) : set, anyLetter);
}
