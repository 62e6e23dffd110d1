/** A running mean of verdicts, kept in the checkpoint. */
export type Baseline = {
  /** in the verdict's unit */
  readonly value: number;
  /** verdicts that it has seen */
  readonly count: number;
};

/**
 * One mean per kind of evidence, so that each is compared with its like: what a person says of an answer, what
 * follows a call of a tool, and returns of rewarded sessions. The first stands at the top, as the only one of
 * earlier versions did. An absent one has seen nothing.
 */
export type Baselines = Baseline & {
  readonly tool?: Baseline | undefined;
  readonly reward?: Baseline | undefined;
};
export type EvidenceKind = 'person' | 'tool' | 'reward';

export const baselineFor = (baselines: Baselines, kind: EvidenceKind): Baseline =>
  kind === 'person' ? baselines : (baselines[kind] ?? initialBaseline);

/**
 * The mean starts at 0, a neutral verdict, and is not bias-corrected. A corrected mean would equal the first
 * batch's own mean, so a policy whose first answers are all disliked - the usual start - would see advantages
 * of 0 from its second batch on and learn nothing from the dislike. From 0 the dislike pushes first and fades
 * as it becomes the expected thing.
 */
export const initialBaseline: Baseline = { value: 0, count: 0 };

/**
 * advantage = verdict - baseline (Williams 1992). The baseline is the one from before the batch, so that it
 * does not depend on the answers it judges and the gradient stays unbiased. Soft verdicts and scalar rewards
 * are numbers like any other; there is no division by a deviation, which would blow up a batch of almost
 * equal verdicts.
 */
export const advantageOf = (verdict: number, baseline: Baseline, enabled: boolean): number =>
  enabled ? verdict - baseline.value : verdict;

/**
 * The advantage of evidence that is weak: a mean vote that was no verdict, or a verdict on a later answer. The
 * baseline may take away what it says, and no more: with expectations high, a faint yes is no reason to punish.
 */
export function weakAdvantage(verdict: number, baseline: Baseline, enabled: boolean): number {
  const advantage = advantageOf(verdict, baseline, enabled);
  return Math.max(Math.min(advantage, Math.max(verdict, 0)), Math.min(verdict, 0));
}

/**
 * What one sample's advantage may be at most, by size. Votes and thumbs never come near it, advantages over a
 * group of n attempts only with n > 101 (sqrt(n - 1) at most). A sum of rewards over a long session would,
 * and one such number would outweigh all other samples of its batch, whose gradient is clipped as a whole.
 */
export const ADVANTAGE_BOUND = 10;

export const boundedAdvantage = (advantage: number): number =>
  Math.min(ADVANTAGE_BOUND, Math.max(-ADVANTAGE_BOUND, advantage));

/**
 * Moves the mean by one batch: the weight of the past is decay ^ (number of verdicts), that of the batch's
 * mean the rest. All samples of a batch weigh the same, whatever their order.
 *
 * @param decay per sample, 0 to 1
 */
export function updateBaseline(baseline: Baseline, verdicts: readonly number[], decay: number): Baseline {
  if (verdicts.length === 0) return baseline;
  const kept = decay ** verdicts.length;
  const mean = verdicts.reduce((sum, verdict) => sum + verdict, 0) / verdicts.length;
  return { value: kept * baseline.value + (1 - kept) * mean, count: baseline.count + verdicts.length };
}
