import { binaryLoss, type ClipSettings, type PolicyBatch, type TokenLoss } from './binary.ts';
import { type GapSettings, teacherGap } from './opd.ts';
import type { PerToken } from './reduction.ts';

type CombineSettings = GapSettings & {
  /** weight of the verdict's advantage */
  readonly verdictWeight: number;
  /** weight of the teacher's gap */
  readonly hintWeight: number;
};

/** PolicyBatch with verdicts and teachers in place of advantages. */
type CombineBatch = Omit<PolicyBatch, 'advantages'> & {
  /** advantage of each sequence's verdict, the same for all its tokens; 0 if there is none: [N] */
  readonly rewards: ArrayLike<number>;
  /** log-probs under the teacher, [N][T]; undefined: no hint, only the verdict */
  readonly teacher: readonly (ArrayLike<number> | undefined)[];
};

/**
 * A_t = verdictWeight r + hintWeight clip(teacher_t - prox_t, +-gapClip): how good the answer was, and which of
 * its tokens the teacher prefers (OpenClaw-RL, Combine).
 *
 * @returns [N][T]
 */
function combinedAdvantages(
  { rewards, teacher, prox }: Pick<CombineBatch, 'rewards' | 'teacher'> & { readonly prox: PerToken },
  { verdictWeight, hintWeight, gapClip }: CombineSettings,
): Float64Array[] {
  return prox.map((row, sequence) => {
    const reward = verdictWeight * rewards[sequence]!;
    const teacherRow = teacher[sequence];
    if (teacherRow === undefined) return new Float64Array(row.length).fill(reward);
    return teacherGap([teacherRow], [row], { gapClip })[0]!.map((gap) => reward + hintWeight * gap);
  });
}

/** Verdict and hint in one objective, that of binaryLoss. */
export const combineLoss = (
  { rewards, teacher, ...batch }: CombineBatch,
  settings: ClipSettings & CombineSettings,
): TokenLoss =>
  binaryLoss(
    { ...batch, advantages: combinedAdvantages({ rewards, teacher, prox: batch.prox }, settings) },
    settings,
  );
