import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { teacherGap } from '../../shared/policy/losses/opd.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';

/**
 * docs/learning.md says what each figure means.
 *
 * @param prox log-probs under the parent, [T]
 */
export function lessonMetrics(
  { teacher, tokens, hintsRead, without, distrusted }: Lesson,
  prox: ReadonlyMap<StepSample, ArrayLike<number>>,
  { gapClip, distillation }: Pick<TrainingSettings, 'gapClip' | 'distillation'>,
): Readonly<Record<string, number>> {
  const figures: Record<string, number> = {
    hintsUsed: teacher.size,
    templateDrift: without['template-drift'],
    hintsNotUsed: without['no-request'] + without['too-long'],
    hintsDistrusted: without.distrusted,
    hintsBackwards: distrusted.backwards,
    hintsWithoutEffect: distrusted['without-effect'],
    hintsLosingContent: distrusted['loses-content'],
  };
  if (distillation === 'overlap') {
    figures.hintsRead = hintsRead;
    if (tokens.size > 0) figures.hintOverlap = mean([...tokens.values()].map(({ overlap }) => overlap));
  }
  const known = [...teacher].filter(([sample]) => prox.has(sample));
  const gaps = known.flatMap(([sample, row]) =>
    Array.from(row, (logProb, t) => logProb - prox.get(sample)![t]!),
  );
  if (gaps.length === 0) return figures;
  figures.teacherKl = -mean(gaps);
  // elsewhere nothing is clipped, or not the sampled token's gap
  if (distillation !== 'sampled') return figures;
  const clipped = teacherGap([gaps], [gaps.map(() => 0)], { gapClip })[0]!;
  figures.teacherGap = mean(Array.from(clipped, Math.abs));
  figures.teacherGapClipped = mean(gaps.map((gap) => Number(Math.abs(gap) > gapClip)));
  return figures;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
