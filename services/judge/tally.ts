import { wishesIn } from '../../shared/wishes/wishes.ts';

export type Vote = -1 | 0 | 1 | null;

export type Tally = {
  /** the verdict that most valid votes gave; 0 on a tie for first place or when none is valid */
  readonly score: -1 | 0 | 1;
  /** of the valid votes; 0 when none is valid */
  readonly mean: number;
};

/** Plurality of the valid votes. A null vote (its text could not be parsed) is in, but says nothing. */
export function tally(votes: readonly Vote[]): Tally {
  const valid = votes.filter((vote) => vote !== null);
  if (valid.length === 0) return { score: 0, mean: 0 };
  const counts = ([-1, 0, 1] as const).map((verdict) => ({
    verdict,
    count: valid.filter((vote) => vote === verdict).length,
  }));
  const most = Math.max(...counts.map(({ count }) => count));
  const first = counts.filter(({ count }) => count === most);
  return {
    score: first.length === 1 ? first[0]!.verdict : 0,
    mean: valid.reduce((sum: number, vote) => sum + vote, 0) / valid.length,
  };
}

/** A hint this short says nothing that a teacher could use. Characters. */
export const SHORT_HINT = 10;

/**
 * Hint candidates, each once: first those in the words of the table of wishes, which a trainer can check, the one
 * that most votes gave first; then other words, if they are long enough, longest first.
 */
export function acceptedHints(candidates: readonly string[]): readonly string[] {
  const trimmed = candidates.map((hint) => hint.trim());
  const isKnown = (hint: string) => wishesIn(hint).length > 0;
  const count = (hint: string) => trimmed.filter((other) => other === hint).length;
  const known = trimmed.filter(isKnown).sort((a, b) => count(b) - count(a) || inOrder(a, b));
  const others = trimmed.filter((hint) => hint.length > SHORT_HINT && !isKnown(hint)).sort(inOrder);
  return [...new Set([...known, ...others])];
}

const inOrder = (a: string, b: string): number => b.length - a.length || (a < b ? -1 : 1);
