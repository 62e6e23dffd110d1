import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import { combineLoss } from '../../shared/policy/losses/combine.ts';
import { klLoss } from '../../shared/policy/losses/kl.ts';
import { type PerToken, tokenShares } from '../../shared/policy/losses/reduction.ts';
import type { CandidateLogProbs } from '../../shared/policy/ops/candidates.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';
import { tokenLessonLoss } from './token-lesson-loss.ts';
import type { Trainee } from './trainee.ts';

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
 * Loss of one minibatch, whose gradients the trainee adds up, part by part: each token's share of the mean is known
 * in advance. A sample that neither its verdict nor a teacher trains has no share. `cur`:
 * the log-probs at which the gradients were taken.
 */
export async function minibatchGradients(
  trainee: Pick<Trainee, 'parts' | 'backward'>,
  minibatch: readonly StepSample[],
  options: MinibatchOptions,
) {
  const { rules, method } = options.settings;
  const settings = rules < 2 && method === 'opd' ? { ...options.settings, hintWeight: 1 } : options.settings;
  const { tokens } = options.lesson;
  const cur = new Map<StepSample, ArrayLike<number>>();
  const candidates = new Map<StepSample, CandidateLogProbs>();
  const lossOf = minibatchLoss(minibatch, candidates, { ...options, settings });

  const parts = trainee.parts(
    minibatch.map(({ sequence }) => sequence),
    settings.microbatchTokens,
  );
  for (const members of parts) {
    const part = members.map((index) => minibatch[index]!);
    const sequences = part.map(({ sequence }) => sequence);
    await trainee.backward(
      sequences,
      (logProbs, candidateRows) => {
        part.forEach((sample, index) => {
          cur.set(sample, logProbs[index]!);
          if (candidateRows[index] !== undefined) candidates.set(sample, candidateRows[index]);
        });
        const { policy, distilled, kl } = lossOf(part, logProbs);
        return {
          sampled:
            kl === undefined ? policy.gradient : sum(policy.gradient, kl.gradient, settings.klCoefficient),
          candidates: distilled.map((loss) => loss?.gradient.map((slope) => settings.hintWeight * slope)),
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
    options.onSamples(part.length);
  }
  const scored = minibatch.filter((sample) => cur.has(sample));
  const { policy, distilled, kl } = lossOf(
    scored,
    scored.map((sample) => cur.get(sample)!),
  );
  const distillationLoss = distilled.reduce((total, lesson) => total + (lesson?.loss ?? 0), 0);
  return {
    cur,
    metrics: {
      loss: policy.loss + settings.hintWeight * distillationLoss + settings.klCoefficient * (kl?.loss ?? 0),
      ...policy.metrics,
      ...defined({
        distillationLoss: tokens.size === 0 ? undefined : distillationLoss,
        klToBase: kl === undefined ? undefined : kl.loss,
      }),
    },
  };
}

/** Creates the loss of some samples of a minibatch, given their log-probs and those of their candidates. */
function minibatchLoss(
  minibatch: readonly StepSample[],
  candidates: ReadonlyMap<StepSample, CandidateLogProbs>,
  { settings, lesson: { teacher, tokens }, prox, reference }: MinibatchOptions,
) {
  const mask = minibatch.map((sample) =>
    new Float64Array(sample.behavior.length).fill(Number(sample.trainsByVerdict || teacher.has(sample))),
  );
  const shares = tokenShares(
    mask,
    settings.mean,
    minibatch.map(({ weight }) => weight),
  );
  /** The hint of a complaint says what should change; its verdict would also blame what should not. */
  const verdictWeightOf = (sample: StepSample): number => {
    if (sample.advantage >= 0 || !teacher.has(sample)) return sample.verdictWeight;
    const taught = tokens.get(sample)?.weight ?? 1;
    return sample.verdictWeight * (1 - taught * (1 - settings.hintedComplaintWeight));
  };
  return (samples: readonly StepSample[], logProbs: PerToken) => {
    const shareOf = samples.map((sample) => shares[minibatch.indexOf(sample)]!);
    const policy = combineLoss(
      {
        cur: logProbs,
        prox: prox === undefined ? logProbs : samples.map((sample) => prox.get(sample)!),
        behavior: samples.map(({ behavior }) => behavior),
        rewards: samples.map((sample) => verdictWeightOf(sample) * sample.advantage),
        // A lesson on several tokens already includes the sampled one.
        teacher: samples.map((sample) => (tokens.has(sample) ? undefined : teacher.get(sample))),
        shares: shareOf,
        unweighted: samples.map(({ greedy }) => greedy),
      },
      { ...settings, verdictWeight: 1 },
    );
    const distilled = samples.map((sample, index) => {
      const [lesson, rows] = [tokens.get(sample), candidates.get(sample)];
      if (lesson === undefined || rows === undefined) return undefined;
      return tokenLessonLoss(lesson, rows, shareOf[index]!, { ...settings, atParent: prox === undefined });
    });
    if (reference === undefined) return { policy, distilled, kl: undefined };
    const base = samples.map((sample) => reference.get(sample)!);
    return { policy, distilled, kl: klLoss(logProbs, base, shareOf, settings.klEstimator) };
  };
}

const sum = (a: readonly Float64Array[], b: readonly Float64Array[], weight: number): Float64Array[] =>
  a.map((row, n) => row.map((value, t) => value + weight * b[n]![t]!));
