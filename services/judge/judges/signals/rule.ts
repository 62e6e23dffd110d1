/**
 * What a person's words say about the answer before them. English. Each pattern reads one clause (see
 * clauses.ts): lower case,
 * contractions spelled out. Patterns are tied to the start of the clause or to "that", "it", "you", so that
 * the words of a new
 * request ("write about a terrible storm") are no evidence.
 */
export type Rule = {
  readonly name: string;
  /** 2: plain; 1: may be mere politeness or surprise. The sign is the verdict. */
  readonly weight: -2 | -1 | 1 | 2;
  readonly pattern: RegExp;
  /** a clause that matches this is no evidence after all */
  readonly unless: RegExp | undefined;
};

/** `pieces` are sources of a regular expression, one after the other. */
export const rule = (
  name: string,
  weight: Rule['weight'],
  pieces: readonly string[],
  unless?: string,
): Rule => ({
  name,
  weight,
  pattern: new RegExp(pieces.join(''), 'u'),
  unless: unless === undefined ? undefined : new RegExp(unless, 'u'),
});

/** One of these; each may be several, with bars between. */
export const any = (...words: readonly string[]): string => `(?:${words.join('|')})`;
/** One of these and a space, or nothing. */
export const maybe = (...words: readonly string[]): string => `(?:${any(...words)} )?`;
/** Any number of these, a space after each. */
export const some = (...words: readonly string[]): string => `(?:${any(...words)} )*`;
