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
export function oneOfTexts(texts: readonly string[], depth = 0): Pattern {
  const written = [...new Set(texts)];
  if (written.length === 1 || depth >= MOST_BRANCHES)
    return choice(...written.map((one) => (one === '' ? nothing : text(one))));
  const groups = Map.groupBy(written, (one) => String.fromCodePoint(one.codePointAt(0) ?? 0));
  return choice(
    ...[...groups].map(([first, group]) => {
      if (group.includes('') || group.length === 1) return oneOfTexts(group, MOST_BRANCHES);
      const shared = sharedStart(group, first.length);
      const rests = group.map((one) => one.slice(shared));
      return sequence(text(group[0]!.slice(0, shared)), oneOfTexts(rests, depth + 1));
    }),
  );
}

function sharedStart([first, ...others]: readonly string[], least: number): number {
  let length = least;
  while (length < first!.length && others.every((one) => one[length] === first![length])) length++;
  // not amid a letter of two units
  return /[\ud800-\udbff]/.test(first![length - 1]!) ? length - 1 : length;
}

/**
 * The same pattern without what can never be finished, so that whatever begins as it says can go on to an
 * end. Undefined: no text is of the pattern.
 */
export function withoutDeadEnds(pattern: Pattern): Pattern | undefined {
  const possible = possibleRules(pattern);
  const seen = new Map<Pattern, boolean>();
  const isPossible = (one: Pattern): boolean => canBe(one, possible, seen);
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
        return { kind: 'choice', of: one.of.filter(isPossible).map(keep) };
      case 'repeat':
        return isPossible(one.of) ? { ...one, of: keep(one.of) } : nothing;
      case 'rule':
        return rule(() => keep(one.of()));
      default:
        return one;
    }
  };
  return isPossible(pattern) ? keep(pattern) : undefined;
}

type Known = ReadonlyMap<Pattern, boolean>;
type Rule = Extract<Pattern, { readonly kind: 'rule' }>;

/** Whether some text is of the pattern, as far as is known of its rules. */
function canBe(pattern: Pattern, known: Known, seen: Map<Pattern, boolean>): boolean {
  const before = seen.get(pattern);
  if (before !== undefined) return before;
  const answer = ((): boolean => {
    switch (pattern.kind) {
      case 'letters':
        return pattern.set.length > 0;
      case 'text':
        return pattern.letters.every((letter) => hasLetter(anyLetter, letter)); // no token is half a letter
      case 'sequence':
        return pattern.parts.every((part) => canBe(part, known, seen));
      case 'choice':
        return pattern.of.some((one) => canBe(one, known, seen));
      case 'repeat':
        return pattern.most >= pattern.least && (pattern.least === 0 || canBe(pattern.of, known, seen));
      case 'rule':
        return known.get(pattern) === true;
    }
  })();
  seen.set(pattern, answer);
  return answer;
}

/** A rule is possible once what it stands for is, with the rules that are known to be. */
function possibleRules(pattern: Pattern): Known {
  const namedBy = new Map<Rule, Rule[]>([...rulesIn(pattern)].map((one) => [one, []]));
  for (const one of namedBy.keys())
    for (const named of rulesIn(one.of())) {
      const naming = namedBy.get(named);
      if (naming === undefined) namedBy.set(named, [one]);
      else naming.push(one);
    }
  const known = new Map<Pattern, boolean>();
  const open = [...namedBy.keys()].reverse(); // what a rule needs stands after it
  for (const one of open) {
    if (known.get(one) || !canBe(one.of(), known, new Map())) continue;
    known.set(one, true);
    open.push(...namedBy.get(one)!); // only these can have become possible by it
  }
  return known;
}

/** The rules that a pattern names itself, not by others. */
function rulesIn(pattern: Pattern): ReadonlySet<Rule> {
  const rules = new Set<Rule>();
  const visited = new Set<Pattern>();
  const find = (one: Pattern): void => {
    if (visited.has(one)) return;
    visited.add(one);
    if (one.kind === 'sequence') one.parts.forEach(find);
    else if (one.kind === 'choice') one.of.forEach(find);
    else if (one.kind === 'repeat') find(one.of);
    else if (one.kind === 'rule') rules.add(one);
  };
  find(pattern);
  return rules;
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
