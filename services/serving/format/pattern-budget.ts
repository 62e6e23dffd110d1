import type { Pattern } from './pattern.ts';

/** What the patterns of one format may cost while they are made. */
export type PatternBudget = {
  /** @throws what the budget was created with, once it is used up */
  readonly spend: (parts: number) => void;
};

/** Patterns that one format may be made of. To make so many takes well below a second. */
export const MOST_PATTERNS = 100_000;

export const TOO_MANY_PATTERNS = `it unfolds to more than ${MOST_PATTERNS} parts`;

export function createPatternBudget(refusal: (why: string) => Error): PatternBudget {
  let left = MOST_PATTERNS;
  return {
    spend: (parts) => {
      left -= parts;
      if (left < 0) throw refusal(TOO_MANY_PATTERNS);
    },
  };
}

/** Letters of a text that cost as much as one pattern. */
const LETTERS_PER_PART = 16;

/** Patterns that a pattern without rules is made of. */
export function partsOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'letters':
      return 1 + Math.floor(pattern.set.length / LETTERS_PER_PART);
    case 'text':
      return 1 + Math.floor(pattern.letters.length / LETTERS_PER_PART);
    case 'sequence':
      return pattern.parts.reduce((sum, part) => sum + partsOf(part), 1);
    case 'choice':
      return pattern.of.reduce((sum, one) => sum + partsOf(one), 1);
    case 'repeat':
      return 1 + partsOf(pattern.of);
    case 'rule':
      return 1;
  }
}
