/**
 * What a person's words say about the answer before them. English. Each pattern reads one clause (see clauses.ts): lower case,
 * contractions spelled out. Patterns are tied to the start of the clause or to "that", "it", "you", so that the words of a new
 * request ("write about a terrible storm") are no evidence.
 */
export type Rule = {
  readonly name: string;
  /** 2: plain; 1: may be mere politeness or surprise. The sign is the verdict. */
  readonly weight: -2 | -1 | 1 | 2;
  readonly pattern: RegExp;
  readonly unless?: RegExp;
};

export const rule = (name: string, weight: Rule['weight'], pattern: string, unless?: string): Rule => ({
  name,
  weight,
  pattern: new RegExp(pattern, 'u'),
  ...(unless === undefined ? {} : { unless: new RegExp(unless, 'u') }),
});
