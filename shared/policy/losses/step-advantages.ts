import { mean, sum } from '../../lang/numbers.ts';

/**
 * Comparisons of the steps of several attempts at one task. `score`: process score of a step; null: unknown, so the
 * step is left out.
 */
export type ScoredAttempt = {
  readonly outcome: number;
  /** [T] */
  readonly scores: readonly (number | null)[];
};

/**
 * The process score that a step is compared with: the mean over attempts of the mean over their steps. Each attempt
 * counts once, however long it is. 0 if no score is known.
 */
export function processBaselineOf(attempts: readonly ScoredAttempt[]): number {
  const means = attempts.flatMap(({ scores }) => {
    const known = scores.filter((score) => score !== null);
    return known.length === 0 ? [] : [mean(known)];
  });
  return means.length === 0 ? 0 : mean(means);
}

/** advantage = (outcome - `outcome`) / scale + weight * (score - `score`) / scale */
export type Bucket = { readonly outcome: number; readonly score: number; readonly scale: number };

/** added to the deviation of a bucket */
const EPSILON = 1e-6;

/**
 * Buckets by step index, as OpenClaw-RL compares steps: step t of one attempt with step t of the others, by
 * r = outcome + weight * score, divided by the deviation of the bucket. An unknown score counts as 0.
 *
 * @returns by step index; null: only one attempt has such a step, or all are equal, so there is nothing to compare
 */
export function indexBuckets(attempts: readonly ScoredAttempt[], weight: number): readonly (Bucket | null)[] {
  const longest = Math.max(0, ...attempts.map(({ scores }) => scores.length));
  return Array.from({ length: longest }, (_, index) => {
    const members = attempts.filter(({ scores }) => index < scores.length);
    if (members.length < 2) return null;
    const scores = members.map((attempt) => attempt.scores[index] ?? 0);
    const rewards = members.map(({ outcome }, member) => outcome + weight * scores[member]!);
    const center = mean(rewards);
    const variance = sum(rewards.map((reward) => (reward - center) ** 2)) / rewards.length;
    const deviation = Math.sqrt(variance);
    if (deviation < EPSILON) return null;
    return {
      outcome: mean(members.map(({ outcome }) => outcome)),
      score: mean(scores),
      scale: deviation + EPSILON,
    };
  });
}

/** One visit of a state by an attempt, and the return from there. */
export type Visit = { readonly attempt: number; readonly state: string; readonly return: number };

/**
 * Return minus the mean return over all visits of the same state (GiGPO: Feng et al. 2025, section 4.2, without the
 * deviation). 0 for a state that only one attempt visited.
 *
 * @param visits [N]
 * @returns [N]
 */
export function anchorAdvantages(visits: readonly Visit[]): readonly number[] {
  const byState = Map.groupBy(visits, ({ state }) => state);
  const expected = new Map(
    [...byState].map(([state, of]) => [
      state,
      new Set(of.map(({ attempt }) => attempt)).size < 2 ? undefined : mean(of.map((visit) => visit.return)),
    ]),
  );
  return visits.map((visit) => {
    const center = expected.get(visit.state);
    return center === undefined ? 0 : visit.return - center;
  });
}
