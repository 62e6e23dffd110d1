import { anyLetter, hasLetter, type Letters, lettersIn } from './letters.ts';

/**
 * What an answer may be, as a grammar: letters (code points) in order, in choice, repeated; a rule can name
 * itself within. `most` may be Infinity.
 */
export type Pattern =
  | { readonly kind: 'letters'; readonly set: Letters }
  | { readonly kind: 'text'; readonly letters: readonly number[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly of: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly of: Pattern; readonly least: number; readonly most: number }
  | { readonly kind: 'rule'; readonly of: () => Pattern };

export const letters = (set: Letters): Pattern => ({ kind: 'letters', set });
export const oneOf = (all: string): Pattern => letters(lettersIn(all));
/** Not empty. */
export const text = (written: string): Pattern => ({
  kind: 'text',
  letters: Array.from(written, (letter) => letter.codePointAt(0)!),
});
export const sequence = (...parts: readonly Pattern[]): Pattern =>
  parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
export const choice = (...of: readonly Pattern[]): Pattern =>
  of.length === 1 ? of[0]! : { kind: 'choice', of };
export const repeat = (of: Pattern, least: number, most = Number.POSITIVE_INFINITY): Pattern => ({
  kind: 'repeat',
  of,
  least,
  most,
});
export const optional = (of: Pattern): Pattern => repeat(of, 0, 1);
export const rule = (of: () => Pattern): Pattern => ({ kind: 'rule', of });

/** The empty text. */
export const nothing: Pattern = sequence();
/** No text at all. */
export const never: Pattern = choice();

/** Branching deeper than this is not shared any more. */
const MOST_BRANCHES = 200;

/** One of these texts, told apart at the first letter that differs. */
export function oneOfTexts(texts: readonly string[]): Pattern {
  const sorted = [...new Set(texts)].sort((one, other) => (one < other ? -1 : 1));
  const shared = sorted.map((one, at) => (at === 0 ? 0 : sharedLength(sorted[at - 1]!, one)));
  /** Those from `first` to before `end`, which have their first `from` units in common. */
  const among = (first: number, end: number, from: number, depth: number): Pattern => {
    const rests = () => sorted.slice(first, end).map((one) => one.slice(from));
    if (end - first === 1 || depth >= MOST_BRANCHES)
      return choice(...rests().map((rest) => (rest === '' ? nothing : text(rest))));
    let least = Number.POSITIVE_INFINITY;
    for (let at = first + 1; at < end; at++) least = Math.min(least, shared[at]!);
    if (least > from)
      return sequence(text(sorted[first]!.slice(from, least)), among(first, end, least, depth + 1));
    const groups: Pattern[] = [];
    for (let start = first, at = first + 1; at <= end; at++) {
      if (at < end && shared[at]! > from) continue;
      groups.push(among(start, at, from, depth + 1));
      start = at;
    }
    return choice(...groups);
  };
  return sorted.length === 0 ? never : among(0, sorted.length, 0, 0);
}

/** Units that two texts begin with, not half a letter of two units. */
function sharedLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length > 0 && /[\ud800-\udbff]/.test(one[length - 1]!) ? length - 1 : length;
}

/**
 * The same pattern without what can never be finished, so that whatever begins as it says can go on to an
 * end. Undefined: no text is of the pattern.
 */
export function withoutDeadEnds(pattern: Pattern): Pattern | undefined {
  const possible = possiblePatterns(pattern);
  const kept = new Map<Pattern, Pattern>();
  const keep = (one: Pattern): Pattern => {
    const known = kept.get(one);
    if (known !== undefined) return known;
    const made = remade(one);
    kept.set(one, made);
    return made;
  };
  const remade = (one: Pattern): Pattern => {
    switch (one.kind) {
      case 'sequence':
        return { kind: 'sequence', parts: one.parts.map(keep) };
      case 'choice':
        return { kind: 'choice', of: one.of.filter((part) => possible.has(part)).map(keep) };
      case 'repeat':
        return possible.has(one.of) ? { ...one, of: keep(one.of) } : nothing;
      case 'rule':
        return rule(() => keep(one.of()));
      default:
        return one;
    }
  };
  return possible.has(pattern) ? keep(pattern) : undefined;
}

/** What a pattern is made of, directly. */
function partsIn(pattern: Pattern): readonly Pattern[] {
  switch (pattern.kind) {
    case 'sequence':
      return pattern.parts;
    case 'choice':
      return pattern.of;
    case 'repeat':
      return [pattern.of];
    case 'rule':
      return [pattern.of()];
    default:
      return [];
  }
}

/** Parts that must be possible before the pattern is: all of a sequence, one of a choice. */
function neededOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'letters':
      return pattern.set.length > 0 ? 0 : Number.POSITIVE_INFINITY;
    case 'text': // no token is half a letter
      return pattern.letters.every((letter) => hasLetter(anyLetter, letter)) ? 0 : Number.POSITIVE_INFINITY;
    case 'sequence':
      return pattern.parts.length;
    case 'choice':
    case 'rule':
      return 1;
    case 'repeat':
      return pattern.most < pattern.least ? Number.POSITIVE_INFINITY : pattern.least === 0 ? 0 : 1;
  }
}

/** The patterns in this one that some text is of. Looks at each part of each pattern once. */
function possiblePatterns(pattern: Pattern): ReadonlySet<Pattern> {
  const missing = new Map<Pattern, number>();
  const wholes = new Map<Pattern, Pattern[]>();
  const open: Pattern[] = [];
  const visit = [pattern];
  for (let one = visit.pop(); one !== undefined; one = visit.pop()) {
    if (missing.has(one)) continue;
    const needed = neededOf(one);
    missing.set(one, needed);
    if (needed === 0) open.push(one);
    for (const part of partsIn(one)) {
      const known = wholes.get(part);
      if (known === undefined) wholes.set(part, [one]);
      else known.push(one);
      visit.push(part);
    }
  }
  const possible = new Set<Pattern>(open);
  for (let one = open.pop(); one !== undefined; one = open.pop())
    for (const whole of wholes.get(one) ?? []) {
      const left = missing.get(whole)! - 1;
      missing.set(whole, left);
      if (left !== 0 || possible.has(whole)) continue;
      possible.add(whole);
      open.push(whole);
    }
  return possible;
}

/** Letters of the shortest and the longest text of a pattern without rules. */
export function lengthOf(pattern: Pattern): { readonly least: number; readonly most: number } {
  switch (pattern.kind) {
    case 'letters':
      return { least: 1, most: 1 };
    case 'text':
      return { least: pattern.letters.length, most: pattern.letters.length };
    case 'sequence': {
      const parts = pattern.parts.map(lengthOf);
      const sum = (of: 'least' | 'most') => parts.reduce((all, part) => all + part[of], 0);
      return { least: sum('least'), most: sum('most') };
    }
    case 'choice': {
      const all = pattern.of.map(lengthOf);
      return {
        least: Math.min(...all.map(({ least }) => least)),
        most: Math.max(...all.map(({ most }) => most)),
      };
    }
    case 'repeat': {
      const { least, most } = lengthOf(pattern.of);
      return {
        least: least * pattern.least,
        most: most === 0 || pattern.most === 0 ? 0 : most * pattern.most,
      };
    }
    case 'rule':
      return { least: 0, most: Number.POSITIVE_INFINITY };
  }
}
