/** A running mean of verdicts, kept in the checkpoint. */
export type Baseline = {
  /** in the verdict's unit */
  readonly value: number;
  /** number of verdicts so far */
  readonly count: number;
};

/**
 * One mean per kind of evidence, so that a verdict is only compared with verdicts of its kind: on answers to a
 * person, on tool calls, and returns of rewarded sessions. The first is at the top level, as in checkpoints of
 * earlier versions, which have only this mean. Absent: no verdicts of this kind yet.
 */
export type Baselines = Baseline & {
  readonly tool?: Baseline | undefined;
  readonly reward?: Baseline | undefined;
};
export type EvidenceKind = 'person' | 'tool' | 'reward';

export const baselineFor = (baselines: Baselines, kind: EvidenceKind): Baseline =>
  kind === 'person' ? baselines : (baselines[kind] ?? initialBaseline);

/**
 * The mean starts at 0, a neutral verdict, without bias correction. A corrected mean would equal the mean of the
 * first batch. If all first answers are disliked, which is the usual start, the advantages would be 0 from the
 * second batch on, and the policy would learn nothing from the dislike. From 0, the dislike has an effect first,
 * which fades as dislike becomes the expected verdict.
 */
export const initialBaseline: Baseline = { value: 0, count: 0 };

/**
 * advantage = verdict - baseline (Williams 1992). It uses the baseline from before the batch, which does not depend
 * on the batch's answers, so the gradient stays unbiased. Soft verdicts and scalar rewards are treated alike. There
 * is no division by the standard deviation, which would magnify a batch of almost equal verdicts.
 */
export const advantageOf = (verdict: number, baseline: Baseline, enabled: boolean): number =>
  enabled ? verdict - baseline.value : verdict;

/**
 * The advantage of weak evidence: a mean vote that was no verdict, or a verdict on a later answer. The baseline may
 * reduce the advantage to 0, but not reverse its sign: faint praise must not count as a penalty.
 */
export function weakAdvantage(verdict: number, baseline: Baseline, enabled: boolean): number {
  const advantage = advantageOf(verdict, baseline, enabled);
  return Math.max(Math.min(advantage, Math.max(verdict, 0)), Math.min(verdict, 0));
}

/**
 * The largest absolute advantage of one sample. Votes and thumbs stay far below; advantages over a group of n
 * attempts exceed it only for n > 101 (at most sqrt(n - 1)). A sum of rewards over a long session may exceed it, and
 * would outweigh all other samples of its batch, because the gradient is clipped as a whole.
 */
const ADVANTAGE_BOUND = 10;

export const boundedAdvantage = (advantage: number): number =>
  Math.min(ADVANTAGE_BOUND, Math.max(-ADVANTAGE_BOUND, advantage));

/**
 * Updates the mean with one batch: the old mean has the weight decay ^ (number of verdicts), the batch's mean has
 * the rest. All samples of a batch have the same weight, in any order.
 *
 * @param decay per sample, 0 to 1
 */
export function updateBaseline(baseline: Baseline, verdicts: readonly number[], decay: number): Baseline {
  if (verdicts.length === 0) return baseline;
  const kept = decay ** verdicts.length;
  const mean = verdicts.reduce((sum, verdict) => sum + verdict, 0) / verdicts.length;
  return { value: kept * baseline.value + (1 - kept) * mean, count: baseline.count + verdicts.length };
}
