import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { recordedTrainingSettings, type TrainingSettings } from '../../shared/events/training-settings.ts';
import { type AdamW, createAdamW, emptyAdamWState } from '../../shared/policy/adamw.ts';
import type { GateResult, OptimizerState } from '../../shared/policy/checkpoint-store-state.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { learningRateAt } from '../../shared/policy/learning-rate.ts';
import { type Baselines, initialBaseline } from '../../shared/policy/losses/baseline.ts';
import { fadedWeights } from './fading.ts';
import { gate } from './gate.ts';
import type { LearningEngine } from './learning-engine.ts';
import { lessonMetrics } from './lesson-metrics.ts';
import { minibatchGradients } from './minibatch-gradients.ts';
import { isWithin, type Rehearsed, rehearse, rehearseInto } from './rehearsal.ts';
import { baselinesAfter, sampleAdvantage, weightOfVerdict } from './sample-advantage.ts';
import { batchMetrics, canaryMetrics, finiteOnly, meanOf } from './step-metrics.ts';
import { type StepSample, stepSample } from './step-sample.ts';
import { taughtSamples } from './taught-samples.ts';
import { noLesson, teach } from './teach.ts';

/** What a step starts from. Version 0, the base model, is undefined. */
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
  /** of earlier batches, whose requests the gate asks again; none unless told */
  readonly earlier?: readonly SampleReady['data'][];
  /** The moments of the parent may be written over: its caller has no further use for them. */
  readonly ownsParent?: boolean;
};

export type Candidate = StepParent & {
  readonly kind: 'candidate';
  readonly gate: GateResult;
  readonly metrics: Readonly<Record<string, number>>;
};

/** There is nothing to keep: some number was not finite, or no sample had anything to teach. */
export type NoCandidate = { readonly kind: 'not-finite' | 'nothing-learned'; readonly detail: string };

export type StepProgress = {
  readonly phase: 'teaching' | 'scoring' | 'training' | 'gate';
  readonly samples: number;
  readonly of: number;
};

/**
 * Bounds what one token with a negative advantage can weigh (Ye et al. 2020); only felt with more than one
 * minibatch or epoch.
 */
const DUAL_CLIP = 3;

/**
 * One update of a policy: a function of the parent's numbers and the batch, whose settings and seed stand in
 * its event. The same input gives the same bits on the same runtime.
 *
 * With one minibatch and one epoch the parameters are the parent's when the gradient is taken: prox is cur,
 * the ratio is 1, and the step is REINFORCE with a baseline and a capped staleness weight. With more, prox is
 * computed before the first.
 *
 * A parent's rank and alpha stay: those of the settings are for a first version. Its kind is the settings'. A
 * teacher of its own must be loaded: see LearningEngine.prepare.
 */
export function step(
  engine: LearningEngine,
  { parent, batch, samples: recorded, earlier, ownsParent = false }: StepInput,
  onProgress: (progress: StepProgress) => void = () => {},
): Candidate | NoCandidate {
  // an open batch may be older than this program
  const settings = recordedTrainingSettings.parse(batch.settings);
  const samples = taughtSamples(engine, settings, batch, recorded);
  const { seed } = batch;
  const start = parent ?? {
    adapter: engine.createAdapter({ ...settings, seed }),
    optimizer: emptyAdamWState(),
    baseline: initialBaseline,
  };
  const prepared = prepare(samples, start.baseline, settings);
  const lesson =
    settings.method === 'binary'
      ? noLesson
      : teach(
          engine,
          settings,
          parent?.adapter,
          prepared.map((sample, index) => [sample, samples[index]!]),
          (done, of) => onProgress({ phase: 'teaching', samples: done, of }),
        );
  const reference =
    settings.klCoefficient > 0 ? scoreAll(engine, undefined, prepared, onProgress) : undefined;
  const parts = split(prepared, settings.minibatches);
  const minibatches = Array.from({ length: settings.epochs }, () => parts).flat();
  const prox = minibatches.length > 1 ? scoreAll(engine, start.adapter, prepared, onProgress) : undefined;

  const rehearsal = rehearse(engine, settings, seed);
  const adapter = copyAdapter(start.adapter);
  const parameters = new Map([...adapter.tensors].map(([name, { values }]) => [name, values]));
  const optimizer = optimizerFrom(start.optimizer, ownsParent);
  const adamw = adamwOf(settings, rehearsal !== undefined && settings.rehearsalBound === undefined);
  const perMinibatch: Readonly<Record<string, number>>[] = [];
  const rehearsed: Rehearsed[] = [];
  const startLogProbs = new Map<StepSample, ArrayLike<number>>(prox);
  let done = 0;
  for (const minibatch of minibatches) {
    const result = minibatchGradients(engine, adapter, minibatch, {
      settings: { ...settings, dualClip: DUAL_CLIP },
      lesson,
      prox,
      reference,
      onSamples: (count) => {
        done += count;
        onProgress({ phase: 'training', samples: done, of: samples.length * settings.epochs });
      },
    });
    for (const [sample, logProbs] of result.cur)
      if (!startLogProbs.has(sample)) startLogProbs.set(sample, logProbs);
    if (!Number.isFinite(result.metrics.loss)) return notFinite(`the loss is ${result.metrics.loss}`);
    if (!Number.isFinite(result.gradientNorm))
      return notFinite(`the gradient's norm is ${result.gradientNorm}`);
    perMinibatch.push({ ...result.metrics, gradientNorm: result.gradientNorm });
    // Momentum and decay would move the policy where nothing was learned.
    if (result.gradientNorm === 0 && settings.rules >= 2) continue;
    if (rehearsal !== undefined && !isWithin(rehearsed, settings))
      rehearsed.push(rehearseInto(engine, adapter, result, rehearsal, { ...settings, dualClip: DUAL_CLIP }));
    adamw.step(parameters, result.gradients, optimizer, learningRateAt(settings, optimizer.step));
  }
  if (optimizer.step === start.optimizer.step)
    return {
      kind: 'nothing-learned',
      detail: `the batch of ${samples.length} has no gradient: nothing in it teaches`,
    };
  const broken = [...parameters].find(([, values]) => !allFinite(values));
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
      ...meanOf(perMinibatch),
      ...meanOf(rehearsed),
      ...batchMetrics(prepared, startLogProbs, batch.parent),
      ...(settings.method === 'binary' ? {} : lessonMetrics(lesson, startLogProbs, settings)),
      meanKl,
      klToBase,
      candidateScale: gated.candidateScale,
      stepScale: gated.stepScale,
      ...canaryMetrics(gated.canaries),
      baseline: start.baseline.value,
    }),
  };
}

/** A loop and not `every`, which would take a second for 135 million weights. */
function allFinite(values: Float32Array): boolean {
  for (let index = 0; index < values.length; index++) if (!Number.isFinite(values[index])) return false;
  return true;
}

const notFinite = (detail: string): NoCandidate => ({ kind: 'not-finite', detail });

/**
 * Disjoint parts in the batch's order, sizes equal or one apart; fewer than `count` where there are fewer
 * samples.
 */
export function split<Sample>(samples: readonly Sample[], count: number): readonly (readonly Sample[])[] {
  const parts = Math.min(count, samples.length);
  const edge = (part: number) => Math.floor((part * samples.length) / parts);
  return Array.from({ length: parts }, (_, part) => samples.slice(edge(part), edge(part + 1)));
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
      weight: weights[index]!,
    }),
  );
};

/** Where A and B have both shrunk to 0 there is no gradient: A is left as it was drawn. */
const adamwOf = ({ gradientClip, rules, ...settings }: TrainingSettings, adds: boolean): AdamW =>
  createAdamW({
    ...settings,
    maxGradientNorm: gradientClip * (adds ? 1 + settings.rehearsalWeight : 1),
    ...(rules < 2 ? {} : { decays: (name) => !name.includes('.lora_A.') }),
  });

const copyAdapter = (trained: TrainedWeights): TrainedWeights => ({
  ...trained,
  tensors: new Map(
    [...trained.tensors].map(([name, { shape, values }]) => [name, { shape, values: values.slice() }]),
  ),
});

const optimizerFrom = ({ step: taken, first, second }: OptimizerState, owned: boolean) => {
  const copy = (moments: OptimizerState['first']) =>
    new Map([...moments].map(([name, values]) => [name, owned ? values : values.slice()]));
  return { step: taken, first: copy(first), second: copy(second) };
};
