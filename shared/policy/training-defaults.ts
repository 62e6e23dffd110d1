import type { TrainingKind, TrainingSettings } from '../events/training-settings.ts';

/** What a batch is formed with when nothing else is said. */
export type TrainingDefaults = {
  readonly settings: TrainingSettings;
  /** samples per batch */
  readonly batchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
};

const common = {
  method: 'combine',
  verdictWeight: 1,
  hintWeight: 1,
  gapClip: 1,
  teacher: 'current',
  distillation: 'sampled',
  topK: 4,
  rank: 8,
  alpha: 16,
  minibatches: 1,
  epochs: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  stalenessCap: 2,
  mean: 'sample',
  baseline: true,
  klCoefficient: 0,
  gradientClip: 1,
  weightDecay: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
} as const;

/** Every weight moves by the rate at each step, where an adapter's do: all of them take a tenth of it. */
const FULL_RATE_DIVISOR = 10;

/** Settings of a step for what is trained of a model. */
export function defaultTrainingSettings(model: string, training: TrainingKind = 'lora'): TrainingDefaults {
  const { settings, ...rest } = adapterDefaults(model);
  const { learningRate } = settings;
  const rate = training === 'full' ? learningRate / FULL_RATE_DIVISOR : learningRate;
  return { ...rest, settings: { ...settings, training, learningRate: rate } };
}

type AdapterDefaults = Omit<TrainingDefaults, 'settings'> & {
  readonly settings: Omit<TrainingSettings, 'training'>;
};

/**
 * claw-nano takes few, small batches and large steps: it is hundreds of times smaller than what 1e-5 is made
 * for, and one person should see a difference within a dozen replies. The pull of KL towards the base is what
 * keeps its English at such a rate (docs/learning.md has the figures). Its baseline follows quickly, so that
 * early on, when most answers are disliked, the few liked ones weigh most.
 */
function adapterDefaults(model: string): AdapterDefaults {
  return model === 'claw-nano'
    ? {
        // half-life of the baseline: three verdicts
        settings: {
          ...common,
          learningRate: 1e-2,
          baselineDecay: 0.8,
          klCoefficient: 0.1,
          gateMeanKl: 1,
        },
        batchSize: 4,
        maxStaleness: 4,
      }
    : {
        // half-life of the baseline: 34 verdicts, about two batches
        settings: { ...common, learningRate: 5e-5, baselineDecay: 0.98, gateMeanKl: 0.5 },
        batchSize: 16,
        maxStaleness: 4,
      };
}
