import { binaryLoss, type ClipSettings, type PolicyBatch, type TokenLoss } from '../losses/binary.ts';
import { type GapSettings, teacherGap } from '../losses/opd.ts';
import type { PerToken } from '../losses/reduction.ts';

/** PolicyBatch with a teacher in place of advantages. */
type DistillationBatch = Omit<PolicyBatch, 'advantages'> & {
  /** log-probs of the sampled tokens under the teacher, which has read the hint; constants, nats, [N][T] */
  readonly teacher: PerToken;
};

/**
 * On-policy distillation on the sampled token (Agarwal et al. 2024, "On-policy distillation of language
 * models", section 3; Lu 2025, "On-policy distillation"): the clipped gap to a teacher that has read a hint is
 * the token's advantage, a constant, in the objective of binaryLoss. Its expectation over sampled tokens is the
 * gradient of KL(policy || teacher), if no gap is clipped.
 */
export const opdLoss = (
  { teacher, ...batch }: DistillationBatch,
  settings: ClipSettings & GapSettings,
): TokenLoss => binaryLoss({ ...batch, advantages: teacherGap(teacher, batch.prox, settings) }, settings);

/** Which most likely tokens are compared. */
type SubsetMode = 'student' | 'teacher' | 'overlap';

/** Token ids of one position that are compared, in the order of their source; may be empty. */
export function subsetOf(
  mode: SubsetMode,
  student: readonly number[],
  teacher: readonly number[],
): readonly number[] {
  if (mode === 'overlap') return student.filter((id) => teacher.includes(id));
  return mode === 'student' ? student : teacher;
}
