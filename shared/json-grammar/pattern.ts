import { anyCodePoint, type CodePoints, codePointsIn, hasCodePoint } from './code-points.ts';

/**
 * A grammar of texts. `codePoints`: one code point of a set; `text`: these code points; `rule`: resolved when
 * it is reached, so that it may contain itself. `most` may be Infinity.
 */
export type Pattern =
  | { readonly kind: 'codePoints'; readonly set: CodePoints }
  | { readonly kind: 'text'; readonly codePoints: readonly number[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly of: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly of: Pattern; readonly least: number; readonly most: number }
  | { readonly kind: 'rule'; readonly of: () => Pattern };

export const codePoints = (set: CodePoints): Pattern => ({ kind: 'codePoints', set });
/** One of the code points of a string. */
export const oneOf = (all: string): Pattern => codePoints(codePointsIn(all));
/** @param written not empty */
export const text = (written: string): Pattern => ({
  kind: 'text',
  codePoints: Array.from(written, (codePoint) => codePoint.codePointAt(0)!),
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

/** Matches the empty text only. */
export const nothing: Pattern = sequence();
/** Matches no text. */
export const never: Pattern = choice();

/** Below this depth, shared beginnings are no longer merged. */
const MOST_BRANCHES = 200;

/** One of these texts, as a tree of their shared beginnings. */
export function oneOfTexts(texts: readonly string[]): Pattern {
  const sorted = [...new Set(texts)].sort((one, other) => (one < other ? -1 : 1));
  const shared = sorted.map((one, at) => (at === 0 ? 0 : sharedLength(sorted[at - 1]!, one)));
  /** The texts from `first` to before `end`, which share their first `from` UTF-16 units. */
  const among = (first: number, end: number, from: number, depth: number): Pattern => {
    const remainders = () => sorted.slice(first, end).map((one) => one.slice(from));
    if (end - first === 1 || depth >= MOST_BRANCHES)
      return choice(...remainders().map((remainder) => (remainder === '' ? nothing : text(remainder))));
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

/** UTF-16 units that two texts share at their beginning, without splitting a surrogate pair. */
function sharedLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length > 0 && /[\ud800-\udbff]/.test(one[length - 1]!) ? length - 1 : length;
}

/**
 * The same pattern without parts that no text can complete, so that every beginning it accepts has a
 * completion. Undefined if the pattern matches no text.
 */
export function withoutDeadEnds(pattern: Pattern): Pattern | undefined {
  const possible = possiblePatterns(pattern);
  const kept = new Map<Pattern, Pattern>();
  const keep = (part: Pattern): Pattern => {
    const before = kept.get(part);
    if (before !== undefined) return before;
    const pruned = prune(part);
    kept.set(part, pruned);
    return pruned;
  };
  const prune = (one: Pattern): Pattern => {
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

/** The direct parts of a pattern. */
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

/** How many parts must be possible for the pattern to be possible: all of a sequence, one of a choice. */
function neededOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'codePoints':
      return pattern.set.length > 0 ? 0 : Number.POSITIVE_INFINITY;
    case 'text': // a lone surrogate has no UTF-8 encoding
      return pattern.codePoints.every((codePoint) => hasCodePoint(anyCodePoint, codePoint))
        ? 0
        : Number.POSITIVE_INFINITY;
    case 'sequence':
      return pattern.parts.length;
    case 'choice':
    case 'rule':
      return 1;
    case 'repeat':
      return pattern.most < pattern.least ? Number.POSITIVE_INFINITY : pattern.least === 0 ? 0 : 1;
  }
}

/** The parts of this pattern that match some text. Visits each part once. */
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

/** Code points of the shortest and the longest text of a pattern without rules. */
export function lengthOf(pattern: Pattern): { readonly least: number; readonly most: number } {
  switch (pattern.kind) {
    case 'codePoints':
      return { least: 1, most: 1 };
    case 'text':
      return { least: pattern.codePoints.length, most: pattern.codePoints.length };
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
