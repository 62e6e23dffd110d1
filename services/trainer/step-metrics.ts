import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { mean, sum } from '../../shared/lang/numbers.ts';
import { teacherGap } from '../../shared/policy/losses/opd.ts';
import type { AnswerFigures } from './answer-figures.ts';
import type { NoCandidate } from './step.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';

type Metrics = Readonly<Record<string, number>>;

/**
 * Figures of a batch that do not depend on the method. docs/understand/learning.md explains them.
 *
 * @param startLogProbs log-probs of each sample before it was first trained on, [T]
 * @param parent the version whose parameters those are (with one minibatch)
 */
export function batchMetrics(
  samples: readonly StepSample[],
  startLogProbs: ReadonlyMap<StepSample, ArrayLike<number>>,
  parent: number,
): Metrics {
  const verdicts = samples.map(({ verdict }) => verdict);
  const tokens = samples.map(({ sequence }) => sequence.responseIds.length);
  const logProbs = samples.flatMap((sample) => Array.from(startLogProbs.get(sample) ?? []));
  // Serving and training have the same policy here, so the difference is only in their arithmetic.
  const drifts = samples
    .filter(({ version }) => version === parent)
    .flatMap((sample) =>
      Array.from(startLogProbs.get(sample) ?? [], (logProb, t) => Math.abs(logProb - sample.behavior[t]!)),
    );
  return {
    samples: samples.length,
    tokens: sum(tokens) + sum(samples.map(({ sequence }) => sequence.promptIds.length)),
    responseTokens: sum(tokens),
    responseLength: mean(tokens),
    verdict: mean(verdicts),
    advantage: mean(samples.map(({ advantage }) => advantage)),
    softSamples: samples.filter(({ soft }) => soft).length,
    greedySamples: samples.filter(({ greedy }) => greedy).length,
    staleSamples: samples.filter(({ version }) => version !== parent).length,
    negativeLogProb: -mean(logProbs),
    ...(drifts.length === 0
      ? {}
      : { logProbDriftMean: mean(drifts), logProbDriftMax: drifts.reduce((a, b) => Math.max(a, b)) }),
  };
}

/**
 * Figures of a lesson. docs/understand/learning.md explains them.
 *
 * @param prox log-probs under the parent, [T]
 */
export function lessonMetrics(
  { teacher, tokens, hintsRead, without, distrusted }: Lesson,
  prox: ReadonlyMap<StepSample, ArrayLike<number>>,
  { gapClip, distillation }: Pick<TrainingSettings, 'gapClip' | 'distillation'>,
): Metrics {
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
  // Other forms of distillation do not clip the sampled token's gap.
  if (distillation !== 'sampled') return figures;
  const clipped = teacherGap([gaps], [gaps.map(() => 0)], { gapClip })[0]!;
  figures.teacherGap = mean(Array.from(clipped, Math.abs));
  figures.teacherGapClipped = mean(gaps.map((gap) => Number(Math.abs(gap) > gapClip)));
  return figures;
}

/** Figures of the candidate's answers to the gate requests. */
export const answerMetrics = (figures: AnswerFigures | undefined): Metrics =>
  Object.fromEntries(
    Object.entries(figures ?? {}).map(([name, value]) => [
      // recorded under this name since the first logs; no release to a share of the sessions is meant
      `canary${name[0]!.toUpperCase()}${name.slice(1)}`,
      value,
    ]),
  );

export const notFinite = (detail: string): NoCandidate => ({ kind: 'not-finite', detail });

/** Removes figures that JSON cannot represent; a ratio may overflow although its loss is clipped. */
export const finiteOnly = (metrics: Metrics): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));

/** The mean of each figure over the minibatches. */
export const meanOf = (rows: readonly Metrics[]): Metrics =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, mean(rows.map((row) => row[name]!))]));
