import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { recordedTrainingSettings, type TrainingSettings } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { GateResult, OptimizerState } from '../../shared/policy/checkpoints/state.ts';
import { type Baselines, initialBaseline } from '../../shared/policy/losses/baseline.ts';
import { type AdamW, createAdamW, emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { learningRateAt } from '../../shared/policy/train/learning-rate.ts';
import { fadedWeights } from './fading.ts';
import { gate } from './gate.ts';
import type { LearningEngine } from './learning-engine.ts';
import { type MinibatchOptions, minibatchGradients } from './minibatch-gradients.ts';
import { isWithin, type Rehearsed, rehearse, rehearseInto } from './rehearsal.ts';
import { baselinesAfter, sampleAdvantage, weightOfVerdict } from './sample-advantage.ts';
import { batchMetrics, canaryMetrics, finiteOnly, lessonMetrics, meanOf } from './step-metrics.ts';
import { type StepSample, stepSample } from './step-sample.ts';
import { taughtSamples } from './taught-samples.ts';
import { type Lesson, noLesson, teach } from './teach.ts';

/** The version that a step starts from; undefined for version 0, the base model. */
export type StepParent = {
  readonly adapter: TrainedWeights;
  readonly optimizer: OptimizerState;
  readonly baseline: Baselines;
};

export type StepInput = {
  readonly parent: StepParent | undefined;
  readonly batch: BatchSubmitted['data'];
  /** in the order of the batch */
  readonly samples: readonly SampleReady['data'][];
  /** samples of earlier batches, whose requests the gate asks again; default none */
  readonly earlier?: readonly SampleReady['data'][];
  /** the step may overwrite the parent's moments, because the caller no longer needs them */
  readonly ownsParent?: boolean;
};

export type Candidate = StepParent & {
  readonly kind: 'candidate';
  readonly gate: GateResult;
  readonly metrics: Readonly<Record<string, number>>;
};

/** No candidate: a value was not finite, or no sample had anything to teach. */
export type NoCandidate = { readonly kind: 'not-finite' | 'nothing-learned'; readonly detail: string };

export type StepProgress = {
  readonly phase: 'teaching' | 'scoring' | 'training' | 'gate';
  readonly samples: number;
  readonly of: number;
};

/**
 * Bounds the weight of a token with a negative advantage (Ye et al. 2020). It only has an effect with more than
 * one minibatch or epoch.
 */
const DUAL_CLIP = 3;

/**
 * One update of a policy: a function of the parent's weights and the batch, whose event contains settings and
 * seed. The same input gives the same bits on the same runtime.
 *
 * With one minibatch and one epoch, the gradient is taken at the parent's parameters: prox is cur, the ratio is
 * 1, and the step is REINFORCE with a baseline and a capped staleness weight. With more, prox is computed
 * before the first minibatch.
 *
 * The parent's rank and alpha are kept; those of the settings apply only to a first version. Its kind must
 * match the settings. A separate teacher must be loaded first, see LearningEngine.prepare.
 */
export function step(
  engine: LearningEngine,
  { parent, batch, samples: recorded, earlier, ownsParent = false }: StepInput,
  onProgress: (progress: StepProgress) => void = () => {},
): Candidate | NoCandidate {
  // An open batch may be older than this program.
  const settings = recordedTrainingSettings.parse(batch.settings);
  const samples = taughtSamples(engine, settings, batch, recorded);
  const { seed } = batch;
  const start = parent ?? {
    adapter: engine.createAdapter({ ...settings, seed }),
    optimizer: emptyAdamWState(),
    baseline: initialBaseline,
  };
  const prepared = prepare(samples, start.baseline, settings);
  const lesson = teachSamples(engine, settings, { parent, samples, prepared }, onProgress);
  const reference =
    settings.klCoefficient > 0 ? scoreAll(engine, undefined, prepared, onProgress) : undefined;
  const parts = split(prepared, settings.minibatches);
  const minibatches = Array.from({ length: settings.epochs }, () => parts).flat();
  const prox = minibatches.length > 1 ? scoreAll(engine, start.adapter, prepared, onProgress) : undefined;

  const adapter = copyAdapter(start.adapter);
  const optimizer = optimizerFrom(start.optimizer, ownsParent);
  const startLogProbs = new Map<StepSample, ArrayLike<number>>(prox);
  let done = 0;
  const trained = trainMinibatches(engine, { adapter, optimizer }, minibatches, {
    settings: { ...settings, dualClip: DUAL_CLIP },
    lesson,
    prox,
    reference,
    seed,
    startLogProbs,
    onSamples: (count) => {
      done += count;
      onProgress({ phase: 'training', samples: done, of: samples.length * settings.epochs });
    },
  });
  if ('kind' in trained) return trained;
  if (optimizer.step === start.optimizer.step)
    return {
      kind: 'nothing-learned',
      detail: `the batch of ${samples.length} has no gradient: nothing in it teaches`,
    };
  const broken = [...adapter.tensors].find(([, { values }]) => !allFinite(values));
  if (broken !== undefined) return notFinite(`${broken[0]} has a value that is not finite`);

  onProgress({ phase: 'gate', samples: samples.length, of: samples.length });
  const sequences = prepared.map(({ sequence }) => sequence);
  const stride = { parent: parent?.adapter, from: start.adapter, to: adapter, sequences, earlier };
  const gated = gate(engine, stride, settings);
  const { meanKl, klToBase } = gated.distances;
  if (!Number.isFinite(meanKl + klToBase)) return notFinite(`the mean KL to the parent is ${meanKl}`);
  const baseline = baselinesAfter(start.baseline, samples, settings);
  return {
    kind: 'candidate',
    adapter: gated.adapter,
    optimizer,
    baseline,
    gate: gated.gate,
    metrics: finiteOnly({
      ...meanOf(trained.perMinibatch),
      ...meanOf(trained.rehearsed),
      ...batchMetrics(prepared, startLogProbs, batch.parent),
      ...(settings.method === 'binary' ? undefined : lessonMetrics(lesson, startLogProbs, settings)),
      meanKl,
      klToBase,
      candidateScale: gated.candidateScale,
      stepScale: gated.stepScale,
      ...canaryMetrics(gated.canaries),
      baseline: start.baseline.value,
    }),
  };
}

type TrainOptions = MinibatchOptions & {
  readonly seed: number;
  /** filled with the log-probs of each sample before it is first trained on */
  readonly startLogProbs: Map<StepSample, ArrayLike<number>>;
};

/** Takes one optimizer step per minibatch, in place, and returns the metrics of each. */
function trainMinibatches(
  engine: LearningEngine,
  { adapter, optimizer }: { readonly adapter: TrainedWeights; readonly optimizer: MutableOptimizer },
  minibatches: readonly (readonly StepSample[])[],
  { seed, startLogProbs, ...options }: TrainOptions,
) {
  const { settings } = options;
  const rehearsal = rehearse(engine, settings, seed);
  const parameters = new Map([...adapter.tensors].map(([name, { values }]) => [name, values]));
  const adamw = adamwOf(settings, rehearsal !== undefined && settings.rehearsalBound === undefined);
  const perMinibatch: Readonly<Record<string, number>>[] = [];
  const rehearsed: Rehearsed[] = [];
  for (const minibatch of minibatches) {
    const result = minibatchGradients(engine, adapter, minibatch, options);
    for (const [sample, logProbs] of result.cur)
      if (!startLogProbs.has(sample)) startLogProbs.set(sample, logProbs);
    if (!Number.isFinite(result.metrics.loss)) return notFinite(`the loss is ${result.metrics.loss}`);
    if (!Number.isFinite(result.gradientNorm))
      return notFinite(`the gradient's norm is ${result.gradientNorm}`);
    perMinibatch.push({ ...result.metrics, gradientNorm: result.gradientNorm });
    // Without a gradient, momentum and decay would still move the policy.
    if (result.gradientNorm === 0 && settings.rules >= 2) continue;
    if (rehearsal !== undefined && !isWithin(rehearsed, settings))
      rehearsed.push(rehearseInto(engine, adapter, result, { rehearsal, settings }));
    adamw.step(parameters, result.gradients, optimizer, learningRateAt(settings, optimizer.step));
  }
  return { perMinibatch, rehearsed };
}

/** A loop, because `every` takes a second for 135 million weights. */
function allFinite(values: Float32Array): boolean {
  for (let index = 0; index < values.length; index++) if (!Number.isFinite(values[index])) return false;
  return true;
}

const notFinite = (detail: string): NoCandidate => ({ kind: 'not-finite', detail });

/**
 * Splits samples into parts in their order; sizes differ by at most one. Fewer samples than `count` give fewer
 * parts.
 */
export function split<Sample>(samples: readonly Sample[], count: number): readonly (readonly Sample[])[] {
  const parts = Math.min(count, samples.length);
  const edge = (part: number) => Math.floor((part * samples.length) / parts);
  return Array.from({ length: parts }, (_, part) => samples.slice(edge(part), edge(part + 1)));
}

function teachSamples(
  engine: LearningEngine,
  settings: TrainingSettings,
  {
    parent,
    samples,
    prepared,
  }: Pick<StepInput, 'parent' | 'samples'> & { readonly prepared: readonly StepSample[] },
  onProgress: (progress: StepProgress) => void,
): Lesson {
  if (settings.method === 'binary') return noLesson;
  const recorded = prepared.map((sample, index) => [sample, samples[index]!] as const);
  return teach(engine, settings, { parent: parent?.adapter, samples: recorded }, (done, of) =>
    onProgress({ phase: 'teaching', samples: done, of }),
  );
}

/** Log-probs of every sample under an adapter, or the base. */
function scoreAll(
  engine: LearningEngine,
  adapter: TrainedWeights | undefined,
  samples: readonly StepSample[],
  onProgress: (progress: StepProgress) => void,
): ReadonlyMap<StepSample, ArrayLike<number>> {
  const scored = new Map<StepSample, ArrayLike<number>>();
  for (const members of engine.parts(samples.map(({ sequence }) => sequence))) {
    const part = members.map((index) => samples[index]!);
    const logProbs = engine.score(
      adapter,
      part.map(({ sequence }) => sequence),
    );
    part.forEach((sample, index) => {
      scored.set(sample, logProbs[index]!);
    });
    onProgress({ phase: 'scoring', samples: scored.size, of: samples.length });
  }
  return scored;
}

const prepare = (
  samples: StepInput['samples'],
  baselines: Baselines,
  settings: TrainingSettings,
): readonly StepSample[] => {
  const weights = fadedWeights(samples, settings.fade);
  return samples.map((sample, index) =>
    stepSample(sample, {
      advantage: settings.method === 'opd' ? undefined : sampleAdvantage(sample, baselines, settings),
      verdictWeight: weightOfVerdict(sample, settings),
      weight: weights[index]! * (sample.weight ?? 1),
    }),
  );
};

/** Weight decay applies only to B of an adapter: if both A and B shrank to 0, there would be no gradient. */
const adamwOf = ({ gradientClip, rules, ...settings }: TrainingSettings, adds: boolean): AdamW =>
  createAdamW({
    ...settings,
    maxGradientNorm: gradientClip * (adds ? 1 + settings.rehearsalWeight : 1),
    ...defined({ decays: rules < 2 ? undefined : (name: string) => !name.includes('.lora_A.') }),
  });

const copyAdapter = (trained: TrainedWeights): TrainedWeights => ({
  ...trained,
  tensors: new Map(
    [...trained.tensors].map(([name, { shape, values }]) => [name, { shape, values: values.slice() }]),
  ),
});

type MutableOptimizer = ReturnType<typeof optimizerFrom>;

const optimizerFrom = ({ step: taken, first, second }: OptimizerState, owned: boolean) => {
  const copy = (moments: OptimizerState['first']) =>
    new Map([...moments].map(([name, values]) => [name, owned ? values : values.slice()]));
  return { step: taken, first: copy(first), second: copy(second) };
};
