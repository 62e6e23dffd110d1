import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { recordedTrainingSettings, type TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { GateResult, OptimizerState } from '../../shared/policy/checkpoints/state.ts';
import { type Baselines, initialBaseline } from '../../shared/policy/losses/baseline.ts';
import { fadedWeights } from './fading.ts';
import type { GatedStep } from './gate.ts';
import type { MinibatchOptions } from './minibatch-gradients.ts';
import { baselinesAfter, sampleAdvantage, weightOfVerdict } from './sample-advantage.ts';
import { answerMetrics, batchMetrics, finiteOnly, lessonMetrics, meanOf, notFinite } from './step-metrics.ts';
import { type StepSample, stepSample } from './step-sample.ts';
import { taughtSamples } from './taught-samples.ts';
import { type Lesson, noLesson, teach } from './teach.ts';
import { type TrainedMinibatches, trainMinibatches } from './train-minibatches.ts';
import type { LeftOut, ReadPolicy, TrainedNumbers, Trainee, TrainingEngine } from './trainee.ts';

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
  /** name of the attempt, under which a server saves the result; default that of the batch */
  readonly label?: string;
};

export type Candidate = StepParent & {
  readonly kind: 'candidate';
  readonly gate: GateResult;
  readonly metrics: Readonly<Record<string, number>>;
  /** samples of the batch that cannot be trained where the policy is trained */
  readonly leftOut?: readonly LeftOut[];
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
 * seed. In this process, the same input gives the same bits on the same runtime.
 *
 * With one minibatch and one epoch, the gradient is taken at the parent's parameters: prox is cur, the ratio is
 * 1, and the step is REINFORCE with a baseline and a capped staleness weight. With more, prox is computed
 * before the first minibatch.
 *
 * The parent's rank and alpha are kept; those of the settings apply only to a first version. Its kind must
 * match the settings. A separate teacher must be loaded first, see LearningEngine.prepare.
 */
export async function step(
  engine: TrainingEngine,
  { ownsParent = false, ...input }: StepInput,
  onProgress: OnProgress = () => {},
): Promise<Candidate | NoCandidate> {
  // An open batch may be older than this program.
  const settings = recordedTrainingSettings.parse(input.batch.settings);
  const { taken, leftOut } = trainableSamples(engine, input);
  if (taken.samples.length === 0 && leftOut.length > 0)
    return {
      kind: 'nothing-learned',
      detail: `a training server can train none of its samples: ${leftOut[0]!.reason}`,
    };
  const { parent, batch } = input;
  const { label = `batch-${batch.n}` } = input;
  const trainee = await engine.open({ parent, settings, seed: batch.seed, ownsParent, label });
  try {
    const prepared = await prepareStep(trainee, { ...input, ...taken }, settings, onProgress);
    const made = await trainWithinBounds(trainee, prepared, onProgress);
    if (made.kind !== 'candidate' || leftOut.length === 0) return made;
    return { ...made, leftOut, metrics: { ...made.metrics, samplesLeftOut: leftOut.length } };
  } finally {
    await trainee.close();
  }
}

type OnProgress = (progress: StepProgress) => void;

/** Separates the samples that the engine can train from the others. */
function trainableSamples({ refusal }: TrainingEngine, { batch, samples }: StepInput) {
  const leftOut: LeftOut[] = [];
  const kept = samples.flatMap((sample, index) => {
    const reason = refusal?.(sample);
    if (reason !== undefined) leftOut.push({ sampleId: sample.sampleId, reason });
    return reason === undefined ? [{ sample, entry: batch.samples[index]! }] : [];
  });
  const taken = {
    samples: kept.map(({ sample }) => sample),
    batch: { ...batch, samples: kept.map(({ entry }) => entry) },
  };
  return { taken, leftOut };
}

/** A step before its first gradient: everything that depends on the start alone. */
type PreparedStep = {
  readonly batch: StepInput['batch'];
  readonly earlier: StepInput['earlier'] | undefined;
  readonly settings: TrainingSettings;
  readonly startBaseline: Baselines;
  readonly samples: readonly SampleReady['data'][];
  readonly prepared: readonly StepSample[];
  readonly minibatches: readonly (readonly StepSample[])[];
} & Pick<MinibatchOptions, 'prox' | 'reference'> & { readonly lesson: Lesson };

async function prepareStep(
  trainee: Trainee,
  { parent, batch, samples: recorded, earlier }: StepInput,
  settings: TrainingSettings,
  onProgress: OnProgress,
): Promise<PreparedStep> {
  const samples = taughtSamples(trainee.here?.engine, settings, batch, recorded);
  const startBaseline = parent?.baseline ?? initialBaseline;
  const prepared = prepare(samples, startBaseline, settings);
  const hasParent = parent !== undefined;
  const lesson = await teachSamples(trainee, settings, { hasParent, samples, prepared }, onProgress);
  const reference =
    settings.klCoefficient > 0 ? await scoreAll(trainee, 'base', prepared, onProgress) : undefined;
  const parts = split(prepared, settings.minibatches);
  const minibatches = Array.from({ length: settings.epochs }, () => parts).flat();
  const prox = minibatches.length > 1 ? await scoreAll(trainee, 'start', prepared, onProgress) : undefined;
  const made = { prepared, lesson, reference, minibatches, prox };
  return { batch, earlier, settings, startBaseline, samples, ...made };
}

/** Parts of the learning rate that are tried where a step cannot be shortened afterwards. */
const RATES = [1, 1 / 2, 1 / 4, 1 / 8];

/**
 * Trains, and where the gate cannot shorten a step itself, trains a step that is too long again from its start, with
 * a part of the learning rate.
 */
async function trainWithinBounds(
  trainee: Trainee,
  step: PreparedStep,
  onProgress: OnProgress,
): Promise<Candidate | NoCandidate> {
  const { restart } = trainee;
  const rates = restart === undefined ? [1] : RATES.filter((part) => part >= step.settings.gateLeastScale);
  for (const [index, part] of rates.entries()) {
    if (index > 0) await restart?.();
    const trained = await trainAndGate(trainee, step, part, onProgress);
    if ('kind' in trained) return trained;
    const { gate } = trained.gated;
    const isTooLong = !gate.passed && (gate.reason === 'kl-to-parent' || gate.reason === 'kl-to-base');
    if (isTooLong && index + 1 < rates.length) continue;
    const finished = await trainee.finish();
    return 'kind' in finished ? finished : candidateOf(step, trained, finished);
  }
  throw new Error('unreachable: 1 is always among the rates');
}

type TrainedStep = TrainedMinibatches & {
  readonly startLogProbs: ReadonlyMap<StepSample, ArrayLike<number>>;
  readonly gated: GatedStep;
  /** part of the learning rate */
  readonly part: number;
};

async function trainAndGate(
  trainee: Trainee,
  step: PreparedStep,
  part: number,
  onProgress: OnProgress,
): Promise<TrainedStep | NoCandidate> {
  const { settings, samples, prepared, earlier } = step;
  const before = trainee.optimizerSteps();
  const startLogProbs = new Map<StepSample, ArrayLike<number>>(step.prox);
  let done = 0;
  const trained = await trainMinibatches(trainee, step.minibatches, {
    settings: { ...settings, dualClip: DUAL_CLIP },
    lesson: step.lesson,
    prox: step.prox,
    reference: step.reference,
    seed: step.batch.seed,
    part,
    startLogProbs,
    onSamples: (count) => {
      done += count;
      onProgress({ phase: 'training', samples: done, of: samples.length * settings.epochs });
    },
  });
  if ('kind' in trained) return trained;
  if (trainee.optimizerSteps() === before)
    return {
      kind: 'nothing-learned',
      detail: `the batch of ${samples.length} has no gradient: nothing in it teaches`,
    };
  onProgress({ phase: 'gate', samples: samples.length, of: samples.length });
  const sequences = prepared.map(({ sequence }) => sequence);
  const gated = await trainee.gate({ sequences, earlier }, settings);
  if ('kind' in gated) return gated;
  const broken = Object.entries(gated.distances).find(([, value]) => !Number.isFinite(value));
  if (broken !== undefined) return notFinite(`the mean KL to the parent is ${broken[1]}`);
  return { ...trained, startLogProbs, gated, part };
}

function candidateOf(
  { settings, startBaseline, samples, prepared, lesson, batch }: PreparedStep,
  { perMinibatch, rehearsed, startLogProbs, gated, part }: TrainedStep,
  numbers: TrainedNumbers,
): Candidate {
  return {
    kind: 'candidate',
    ...numbers,
    baseline: baselinesAfter(startBaseline, samples, settings),
    gate: gated.gate,
    metrics: finiteOnly({
      ...meanOf(perMinibatch),
      ...meanOf(rehearsed),
      ...batchMetrics(prepared, startLogProbs, batch.parent),
      ...(settings.method === 'binary' ? undefined : lessonMetrics(lesson, startLogProbs, settings)),
      ...gated.distances,
      candidateScale: part * gated.candidateScale,
      stepScale: part * gated.stepScale,
      ...answerMetrics(gated.answers),
      baseline: startBaseline.value,
    }),
  };
}

/**
 * Splits samples into parts in their order; sizes differ by at most one. Fewer samples than `count` give fewer
 * parts.
 */
export function split<Sample>(samples: readonly Sample[], count: number): readonly (readonly Sample[])[] {
  const parts = Math.min(count, samples.length);
  const edge = (part: number) => Math.floor((part * samples.length) / parts);
  return Array.from({ length: parts }, (_, part) => samples.slice(edge(part), edge(part + 1)));
}

async function teachSamples(
  trainee: Trainee,
  settings: TrainingSettings,
  {
    hasParent,
    samples,
    prepared,
  }: Pick<StepInput, 'samples'> & {
    readonly hasParent: boolean;
    readonly prepared: readonly StepSample[];
  },
  onProgress: OnProgress,
): Promise<Lesson> {
  if (settings.method === 'binary') return noLesson;
  const recorded = prepared.map((sample, index) => [sample, samples[index]!] as const);
  return teach(trainee, settings, { hasParent, samples: recorded }, (done, of) =>
    onProgress({ phase: 'teaching', samples: done, of }),
  );
}

/** Log-probs of every sample under the base, or before the step. */
async function scoreAll(
  trainee: Trainee,
  policy: ReadPolicy,
  samples: readonly StepSample[],
  onProgress: OnProgress,
): Promise<ReadonlyMap<StepSample, ArrayLike<number>>> {
  const scored = new Map<StepSample, ArrayLike<number>>();
  for (const members of trainee.parts(samples.map(({ sequence }) => sequence))) {
    const part = members.map((index) => samples[index]!);
    const logProbs = await trainee.score(
      policy,
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
