import { binaryLoss, type ClipSettings, type PolicyBatch, type TokenLoss } from './binary.ts';
import type { PerToken } from './reduction.ts';

/** As PolicyBatch, with a teacher in the place of advantages. */
export type DistillationBatch = Omit<PolicyBatch, 'advantages'> & {
  /** log-probs of the sampled tokens under the teacher, which has read the hint; constants, nats, [N][T] */
  readonly teacher: PerToken;
};

export type GapSettings = {
  /**
   * the teacher's gap is clipped to +-gapClip, nats: one token that it finds absurd must not decide a
   * step
   */
  readonly gapClip: number;
};

/**
 * How much likelier the teacher finds each sampled token than the policy did: clip(teacher - prox,
 * +-gapClip).
 *
 * @returns nats, [N][T]
 */
export const teacherGap = (teacher: PerToken, prox: PerToken, { gapClip }: GapSettings): Float64Array[] =>
  teacher.map((row, sequence) =>
    Float64Array.from(row, (logProb, index) =>
      Math.min(Math.max(logProb - prox[sequence]![index]!, -gapClip), gapClip),
    ),
  );

/**
 * On-policy distillation on the sampled token (Agarwal et al. 2024, "On-policy distillation of language
 * models", section 3; Lu 2025, "On-policy distillation"): the clipped gap to a teacher that has read a hint
 * is
 * the token's advantage, a constant, in the objective of binaryLoss. Its expectation over sampled tokens is
 * the gradient of KL(policy || teacher), as long as no gap is clipped.
 */
export const opdLoss = (
  { teacher, ...batch }: DistillationBatch,
  settings: ClipSettings & GapSettings,
): TokenLoss => binaryLoss({ ...batch, advantages: teacherGap(teacher, batch.prox, settings) }, settings);
