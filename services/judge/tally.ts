import type { OpenTurn } from './judge-rows.ts';

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

/** Those that are in, by index. */
export const votesOf = (turn: Pick<OpenTurn, 'votes'>): readonly Vote[] =>
  Object.values(turn.votes).map(({ vote }) => vote);

/** What a turn's votes about verdicts and about hints brought. */
export const hintsOf = ({ votes, hints = {} }: Pick<OpenTurn, 'votes' | 'hints'>): readonly string[] =>
  [...Object.values(votes).map(({ hint }) => hint), ...Object.values(hints)].filter(
    (hint) => typeof hint === 'string',
  );

/** Of at least two valid votes, the share that gave the commonest verdict. */
export function agreementOf(votes: readonly Vote[]): number | undefined {
  const valid = votes.filter((vote) => vote !== null);
  if (valid.length < 2) return undefined;
  return Math.max(...valid.map((one) => valid.filter((vote) => vote === one).length)) / valid.length;
}

/** A hint this short says nothing that a teacher could use. Characters. */
export const SHORT_HINT = 10;

/** Hint candidates that are long enough, each once, longest first. */
export function acceptedHints(candidates: readonly string[]): readonly string[] {
  const trimmed = candidates.map((hint) => hint.trim()).filter((hint) => hint.length > SHORT_HINT);
  return [...new Set(trimmed)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}
