import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { AdamWSettings } from '../../shared/policy/train/adamw.ts';
import { learningRateAt } from '../../shared/policy/train/learning-rate.ts';
import { type MinibatchOptions, minibatchGradients } from './minibatch-gradients.ts';
import { isWithin, type Rehearsed, rehearse, rehearseInto } from './rehearsal.ts';
import type { NoCandidate } from './step.ts';
import { notFinite } from './step-metrics.ts';
import type { StepSample } from './step-sample.ts';
import type { Trainee } from './trainee.ts';

export type TrainedMinibatches = {
  /** metrics of each minibatch */
  readonly perMinibatch: readonly Readonly<Record<string, number>>[];
  readonly rehearsed: readonly Rehearsed[];
};

type TrainOptions = MinibatchOptions & {
  readonly seed: number;
  /** part of the learning rate */
  readonly part: number;
  /** filled with the log-probs of each sample before it is first trained on */
  readonly startLogProbs: Map<StepSample, ArrayLike<number>>;
};

/** Takes one optimizer step per minibatch that has a gradient. */
export async function trainMinibatches(
  trainee: Trainee,
  minibatches: readonly (readonly StepSample[])[],
  { seed, part, startLogProbs, ...options }: TrainOptions,
): Promise<TrainedMinibatches | NoCandidate> {
  const { settings } = options;
  const { here } = trainee;
  const rehearsal = here && rehearse(here.engine, settings, seed);
  const adds = rehearsal !== undefined && settings.rehearsalBound === undefined;
  const perMinibatch: Readonly<Record<string, number>>[] = [];
  const rehearsed: Rehearsed[] = [];
  for (const minibatch of minibatches) {
    const { cur, metrics } = await minibatchGradients(trainee, minibatch, options);
    for (const [sample, logProbs] of cur) if (!startLogProbs.has(sample)) startLogProbs.set(sample, logProbs);
    if (!Number.isFinite(metrics.loss)) return notFinite(`the loss is ${metrics.loss}`);
    const norm = trainee.gradientNorm();
    if (norm !== undefined && !Number.isFinite(norm)) return notFinite(`the gradient's norm is ${norm}`);
    // Without a gradient, momentum and decay would still move the policy.
    if (norm === 0 && settings.rules >= 2) {
      perMinibatch.push({ ...metrics, gradientNorm: norm });
      continue;
    }
    if (here !== undefined && rehearsal !== undefined && !isWithin(rehearsed, settings))
      rehearsed.push(await rehearseInto({ ...trainee, here }, { rehearsal, settings }));
    const rate = part * learningRateAt(settings, trainee.optimizerSteps());
    const { gradientNorm } = await trainee.apply(adamOf(settings, adds, rate));
    if (gradientNorm !== undefined && !Number.isFinite(gradientNorm))
      return notFinite(`the gradient's norm is ${gradientNorm}`);
    perMinibatch.push({ ...metrics, ...defined({ gradientNorm: norm ?? gradientNorm }) });
  }
  return { perMinibatch, rehearsed };
}

/** Weight decay applies only to B of an adapter: if both A and B shrank to 0, there would be no gradient. */
const adamOf = (
  { gradientClip, rules, ...settings }: TrainingSettings,
  adds: boolean,
  learningRate: number,
): AdamWSettings => ({
  ...settings,
  learningRate,
  maxGradientNorm: gradientClip * (adds ? 1 + settings.rehearsalWeight : 1),
  ...defined({ decays: rules < 2 ? undefined : (name: string) => !name.includes('.lora_A.') }),
});
