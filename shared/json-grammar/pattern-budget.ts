import { grammarError } from './grammar-error.ts';
import type { Pattern } from './pattern.ts';

/** Bounds the parts of the patterns of one format. */
export type PatternBudget = {
  /** @throws GrammarError once the budget is used up */
  readonly spend: (parts: number) => void;
};

/** Parts of one format. Building them takes well below a second. */
const MOST_PATTERNS = 100_000;

const TOO_MANY_PATTERNS = `it expands to more than ${MOST_PATTERNS} parts`;

export function createPatternBudget(): PatternBudget {
  let left = MOST_PATTERNS;
  return {
    spend: (parts) => {
      left -= parts;
      if (left < 0) throw grammarError(TOO_MANY_PATTERNS);
    },
  };
}

/** Code points or ranges that cost as much as one part. */
const CODE_POINTS_PER_PART = 16;

/** The size of a pattern without rules. */
export function partsOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'codePoints':
      return 1 + Math.floor(pattern.set.length / CODE_POINTS_PER_PART);
    case 'text':
      return 1 + Math.floor(pattern.codePoints.length / CODE_POINTS_PER_PART);
    case 'sequence':
      return pattern.parts.reduce((sum, part) => sum + partsOf(part), 1);
    case 'choice':
      return pattern.of.reduce((sum, option) => sum + partsOf(option), 1);
    case 'repeat':
      return 1 + partsOf(pattern.of);
    case 'rule':
      return 1;
  }
}
