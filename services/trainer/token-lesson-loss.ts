import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { withoutRest } from '../../shared/policy/losses/distribution.ts';
import { opdOverlapLoss } from '../../shared/policy/losses/opd-overlap.ts';
import { opdTopkLoss } from '../../shared/policy/losses/opd-topk.ts';
import type { CandidateLogProbs } from '../../shared/policy/ops/candidates.ts';
import type { TokenLesson } from './teach-tokens.ts';

type Settings = Pick<
  TrainingSettings,
  'distillation' | 'topK' | 'forwardKl' | 'clipLow' | 'clipHigh' | 'gapClip'
>;

/**
 * Loss of one answer's lesson with several tokens per position, see opdTopkLoss and opdOverlapLoss.
 *
 * @param cur log-probs of the lesson's tokens under the trained parameters
 * @param sharesOfMean share of each position in the mean, [T]
 * @param settings `atParent`: whether the parameters are still the parent's, so that `old` is `cur` and every
 *   ratio is 1
 * @returns loss, nats, and its derivative by `cur.logProbs`, [T * k]
 */
export function tokenLessonLoss(
  lesson: TokenLesson,
  cur: CandidateLogProbs,
  sharesOfMean: ArrayLike<number>,
  { atParent, ...settings }: Settings & { readonly atParent: boolean },
): { readonly loss: number; readonly gradient: Float64Array } {
  const k = settings.topK;
  const { weight = 1 } = lesson;
  const shares = Float64Array.from(sharesOfMean, (share) => weight * share);
  const positions = Array.from({ length: shares.length }, (_, t) => t);
  const rows = (values: Float32Array) => positions.map((t) => values.subarray(t * k, (t + 1) * k));
  const gradient = new Float64Array(positions.length * k);
  if (settings.distillation === 'overlap') {
    const old = rows(atParent ? cur.logProbs : lesson.old);
    const made = opdOverlapLoss(
      { cur: [rows(cur.logProbs)], old: [old], teacher: [rows(lesson.teacher)] },
      [shares],
      settings,
    );
    made.gradient[0]!.forEach((slopes, t) => void gradient.set(slopes, t * k));
    return { loss: made.loss, gradient };
  }
  const bins = (values: Float32Array, rest: Float32Array) => rows(values).map((row, t) => [...row, rest[t]!]);
  const student = bins(cur.logProbs, cur.rest);
  const made = opdTopkLoss([student], [bins(lesson.teacher, lesson.rest)], [shares], settings.forwardKl);
  made.gradient[0]!.forEach((slopes, t) => void gradient.set(withoutRest(student[t]!, slopes), t * k));
  return { loss: made.loss, gradient };
}
