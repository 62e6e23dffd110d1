import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { gradientNorm } from '../../shared/policy/adamw.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { combineLoss } from '../../shared/policy/losses/combine.ts';
import { klLoss } from '../../shared/policy/losses/kl.ts';
import { type PerToken, tokenShares } from '../../shared/policy/losses/reduction.ts';
import type { CandidateLogProbs } from '../../shared/policy/ops/candidates.ts';
import type { LearningEngine } from './learning-engine.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';
import { tokenLessonLoss } from './token-lesson-loss.ts';

type BySample = ReadonlyMap<StepSample, ArrayLike<number>>;

export type MinibatchOptions = {
  readonly settings: TrainingSettings & { readonly dualClip: number };
  readonly lesson: Pick<Lesson, 'teacher' | 'tokens'>;
  /** log-probs under the parent; undefined: the parameters are still the parent's, so they are cur */
  readonly prox: BySample | undefined;
  /** log-probs under the base model; undefined: no KL term */
  readonly reference: BySample | undefined;
  readonly onSamples: (count: number) => void;
};

/**
 * Loss and gradients of one minibatch, part by part: each token's share in the mean is known beforehand, so
 * gradients of the parts add up. A sample that neither its verdict nor a teacher trains has no share. `cur`
 * are the log-probs that they were taken at.
 */
export function minibatchGradients(
  engine: LearningEngine,
  adapter: TrainedWeights,
  minibatch: readonly StepSample[],
  { settings: told, lesson: { teacher, tokens }, prox, reference, onSamples }: MinibatchOptions,
) {
  const settings = told.rules < 2 && told.method === 'opd' ? { ...told, hintWeight: 1 } : told;
  const mask = minibatch.map((sample) =>
    new Float64Array(sample.behavior.length).fill(Number(sample.trainsByVerdict || teacher.has(sample))),
  );
  const shares = tokenShares(
    mask,
    settings.mean,
    minibatch.map(({ weight }) => weight),
  );
  const cur = new Map<StepSample, ArrayLike<number>>();
  const candidates = new Map<StepSample, CandidateLogProbs>();

  const lossOf = (samples: readonly StepSample[], logProbs: PerToken) => {
    const shareOf = samples.map((sample) => shares[minibatch.indexOf(sample)]!);
    const policy = combineLoss(
      {
        cur: logProbs,
        prox: prox === undefined ? logProbs : samples.map((sample) => prox.get(sample)!),
        behavior: samples.map(({ behavior }) => behavior),
        rewards: samples.map(({ advantage, verdictWeight }) => verdictWeight * advantage),
        // what is learned of several tokens is not learned of the sampled one again
        teacher: samples.map((sample) => (tokens.has(sample) ? undefined : teacher.get(sample))),
        shares: shareOf,
        unweighted: samples.map(({ greedy }) => greedy),
      },
      { ...settings, verdictWeight: 1 },
    );
    const distilled = samples.map((sample, index) => {
      const [lesson, made] = [tokens.get(sample), candidates.get(sample)];
      if (lesson === undefined || made === undefined) return undefined;
      return tokenLessonLoss(lesson, made, shareOf[index]!, settings, prox === undefined);
    });
    if (reference === undefined) return { policy, distilled, kl: undefined };
    const base = samples.map((sample) => reference.get(sample)!);
    return { policy, distilled, kl: klLoss(logProbs, base, shareOf, settings.klEstimator) };
  };

  const gradients = new Map<string, Float32Array>();
  const parts = engine.parts(
    minibatch.map(({ sequence }) => sequence),
    settings.microbatchTokens,
  );
  for (const members of parts) {
    const part = members.map((index) => minibatch[index]!);
    const sequences = part.map(({ sequence }) => sequence);
    const made = engine.gradients(
      adapter,
      sequences,
      (logProbs, others) => {
        part.forEach((sample, index) => {
          cur.set(sample, logProbs[index]!);
          if (others[index] !== undefined) candidates.set(sample, others[index]);
        });
        const { policy, distilled, kl } = lossOf(part, logProbs);
        return {
          sampled:
            kl === undefined ? policy.gradient : sum(policy.gradient, kl.gradient, settings.klCoefficient),
          candidates: distilled.map((one) => one?.gradient.map((slope) => settings.hintWeight * slope)),
        };
      },
      part.some((sample) => tokens.has(sample))
        ? {
            count: settings.topK,
            rest: settings.distillation === 'topk',
            ids: part.map((sample) => tokens.get(sample)?.ids),
          }
        : undefined,
    );
    addInto(gradients, made);
    onSamples(part.length);
  }
  const scored = minibatch.filter((sample) => cur.has(sample));
  const { policy, distilled, kl } = lossOf(
    scored,
    scored.map((sample) => cur.get(sample)!),
  );
  const distillationLoss = distilled.reduce((total, one) => total + (one?.loss ?? 0), 0);
  return {
    cur,
    gradients,
    gradientNorm: gradientNorm(gradients),
    metrics: {
      loss: policy.loss + settings.hintWeight * distillationLoss + settings.klCoefficient * (kl?.loss ?? 0),
      ...policy.metrics,
      ...(tokens.size === 0 ? {} : { distillationLoss }),
      ...(kl === undefined ? {} : { klToBase: kl.loss }),
    },
  };
}

const sum = (a: readonly Float64Array[], b: readonly Float64Array[], weight: number): Float64Array[] =>
  a.map((row, n) => row.map((value, t) => value + weight * b[n]![t]!));

function addInto(total: Map<string, Float32Array>, part: ReadonlyMap<string, Float32Array>): void {
  for (const [name, gradient] of part) {
    const known = total.get(name);
    if (known === undefined) total.set(name, gradient);
    else for (let index = 0; index < known.length; index++) known[index]! += gradient[index]!;
  }
}
