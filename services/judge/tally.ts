import type { OpenTurn, Vote } from './judge-rows.ts';

type Tally = {
  /** the most common valid vote; 0 on a tie for first place or without a valid vote */
  readonly score: -1 | 0 | 1;
  /** mean of the valid votes; 0 without a valid vote */
  readonly mean: number;
};

/** Plurality of the valid votes. A null vote (its text could not be parsed) is not valid. */
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

/** The votes that have arrived, by index. */
export const votesOf = (turn: Pick<OpenTurn, 'votes'>): readonly Vote[] =>
  Object.values(turn.votes).map(({ vote }) => vote);

/** The hints from a turn's votes and hint votes. */
export const hintsOf = ({ votes, hints = {} }: Pick<OpenTurn, 'votes' | 'hints'>): readonly string[] =>
  [...Object.values(votes).map(({ hint }) => hint), ...Object.values(hints)].filter(
    (hint) => typeof hint === 'string',
  );

/** Share of the valid votes that agree with the most common one; undefined below two valid votes. */
export function agreementOf(votes: readonly Vote[]): number | undefined {
  const valid = votes.filter((vote) => vote !== null);
  if (valid.length < 2) return undefined;
  return Math.max(...valid.map((verdict) => valid.filter((vote) => vote === verdict).length)) / valid.length;
}

/** A hint of this length or shorter is useless to a teacher. Characters. */
export const SHORT_HINT = 10;

/** The candidates that are long enough, without duplicates, longest first. */
export function acceptedHints(candidates: readonly string[]): readonly string[] {
  const trimmed = candidates.map((hint) => hint.trim()).filter((hint) => hint.length > SHORT_HINT);
  return [...new Set(trimmed)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}
