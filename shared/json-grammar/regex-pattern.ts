import {
  anyCodePoint,
  type CodePoints,
  codePointsIn,
  codePointsOf,
  complementOf,
  intersectionOf,
} from './code-points.ts';
import { grammarError } from './grammar-error.ts';
import { choice, codePoints, nothing, type Pattern, repeat, sequence } from './pattern.ts';

const digits = codePointsOf([[0x30, 0x39]]);
const words = codePointsOf([...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]);
const spaces = codePointsIn(
  ' \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a',
);
const lineEnds = codePointsIn('\n\r\u2028\u2029');

const classes: Readonly<Record<string, CodePoints>> = {
  d: digits,
  D: complementOf(digits),
  w: words,
  W: complementOf(words),
  s: spaces,
  S: complementOf(spaces),
};
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' };

const MOST_REPETITIONS = 10_000;
/** Characters of an expression. */
const LONGEST = 4_000;

const ANCHOR_INSIDE = '`^` is allowed only at the start of the expression, and `$` only at its end';

type Reader = { readonly source: string; at: number; depth: number };

const refuse = (reason: string): never => {
  throw grammarError(reason);
};

/**
 * A regular expression (ECMA-262 with the flag `u`) as a pattern. Anchors are supported only at the ends;
 * look-arounds, back references and Unicode properties are not supported.
 * @param isWhole the expression must match the whole text; otherwise any text may surround a match without
 *   `^` or `$`, as in JSON Schema
 * @throws GrammarError
 */
export function regexPattern(source: string, isWhole: boolean): Pattern {
  if (source.length > LONGEST) refuse(`it is longer than ${LONGEST} characters`);
  try {
    new RegExp(source, 'u');
  } catch (error) {
    refuse((error as Error).message.slice(0, 200));
  }
  const reader: Reader = { source, at: 0, depth: 0 };
  return alternatives(reader, isWhole ? nothing : repeat(codePoints(anyCodePoint), 0));
}

const take = (reader: Reader, expected: string): boolean => {
  const isNext = reader.source.startsWith(expected, reader.at);
  if (isNext) reader.at += expected.length;
  return isNext;
};

/** `around`: what may surround a match without anchors; undefined inside groups, where anchors are refused. */
function alternatives(reader: Reader, around: Pattern | undefined): Pattern {
  if (++reader.depth > 50) refuse('groups are nested too deeply');
  const branches: Pattern[] = [];
  do {
    const isAnchored = around !== undefined && take(reader, '^');
    const parts: Pattern[] = [];
    let isEnded = false;
    while (reader.at < reader.source.length && !/[|)]/.test(reader.source[reader.at]!)) {
      if (isEnded) refuse(ANCHOR_INSIDE);
      if (around !== undefined && take(reader, '$')) isEnded = true;
      else parts.push(quantified(reader));
    }
    branches.push(
      sequence(
        ...(around === undefined || isAnchored ? [] : [around]),
        ...parts,
        ...(around === undefined || isEnded ? [] : [around]),
      ),
    );
  } while (take(reader, '|'));
  reader.depth--;
  return choice(...branches);
}

function quantified(reader: Reader): Pattern {
  const repeated = atom(reader);
  const [quantifier, symbol, least, comma, most] =
    /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(reader.source.slice(reader.at)) ?? [];
  if (quantifier === undefined) return repeated;
  reader.at += quantifier.length;
  if (symbol !== undefined) return repeat(repeated, symbol === '+' ? 1 : 0, symbol === '?' ? 1 : undefined);
  const from = Number(least);
  const to = comma === '' ? from : most === '' ? Number.POSITIVE_INFINITY : Number(most);
  if (from > MOST_REPETITIONS || (to > MOST_REPETITIONS && to !== Number.POSITIVE_INFINITY))
    refuse(`\`${quantifier}\` repeats more than ${MOST_REPETITIONS} times`);
  return repeat(repeated, from, to);
}

function atom(reader: Reader): Pattern {
  const codePoint = String.fromCodePoint(reader.source.codePointAt(reader.at)!);
  switch (codePoint) {
    case '(':
      return group(reader);
    case '[':
      return codePoints(classSet(reader));
    case '.':
      reader.at++;
      return codePoints(complementOf(lineEnds));
    case '\\':
      return codePoints(escaped(reader));
    case '^':
    case '$':
      return refuse(ANCHOR_INSIDE);
    default:
      reader.at += codePoint.length;
      return codePoints(codePointsIn(codePoint));
  }
}

function group(reader: Reader): Pattern {
  const [opening] = /^\((?:\?(?::|<(?![=!])[^>]+>))?/.exec(reader.source.slice(reader.at))!;
  if (reader.source.startsWith('(?', reader.at) && opening === '(')
    refuse(
      `\`${reader.source.slice(reader.at, reader.at + 4)}\` is not supported: look-arounds and inline flags are unavailable`,
    );
  reader.at += opening.length;
  const inner = alternatives(reader, undefined);
  take(reader, ')');
  return inner;
}

/** One escape, inside or outside a class. */
function escaped(reader: Reader): CodePoints {
  const rest = reader.source.slice(reader.at, reader.at + 12);
  const name = rest[1]!;
  const number = /^\\(?:x([\da-fA-F]{2})|u\{([\da-fA-F]+)\}|u([\da-fA-F]{4}))/.exec(rest);
  const namedClass = classes[name];
  if (number !== null) {
    reader.at += number[0].length;
    const codePoint = Number.parseInt(number[1] ?? number[2] ?? number[3]!, 16);
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) refuse(`\`${number[0]}\` is half of a surrogate pair`);
    return codePointsOf([[codePoint, codePoint]]);
  }
  reader.at += 2;
  if (namedClass !== undefined) return namedClass;
  if (Object.hasOwn(controls, name)) return codePointsIn(controls[name]!);
  if (/[a-zA-Z1-9]/.test(name)) refuse(`\`\\${name}\` is not supported`);
  return codePointsIn(name);
}

function classSet(reader: Reader): CodePoints {
  reader.at++;
  const isNegated = take(reader, '^');
  const ranges: (readonly [number, number])[] = [];
  const nextMember = (): CodePoints => {
    if (reader.source.startsWith('\\b', reader.at)) {
      reader.at += 2;
      return codePointsIn('\b');
    }
    if (reader.source[reader.at] === '\\') return escaped(reader);
    const codePoint = String.fromCodePoint(reader.source.codePointAt(reader.at)!);
    reader.at += codePoint.length;
    return codePointsIn(codePoint);
  };
  while (!take(reader, ']')) {
    const first = nextMember();
    if (!/^-[^\]]/.test(reader.source.slice(reader.at, reader.at + 2))) {
      ranges.push(...first);
      continue;
    }
    reader.at++;
    const last = nextMember();
    ranges.push([first[0]![0], last[0]![0]]);
  }
  const set = codePointsOf(ranges);
  return intersectionOf(isNegated ? complementOf(set) : set, anyCodePoint);
}
