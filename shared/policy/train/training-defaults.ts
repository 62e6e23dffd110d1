import type { TrainingKind, TrainingSettings } from '../../events/training-settings.ts';
import { isShipped } from '../model/model-folder.ts';

/** The defaults for forming and training a batch. */
export type TrainingDefaults = {
  readonly settings: TrainingSettings;
  /** samples per batch */
  readonly batchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
  /** ms after which a smaller batch is trained; undefined: samples always wait for a full batch */
  readonly waitedMs: number | undefined;
  /** corrections of one person for the same wish after which it is set aside */
  readonly wishPatience: number;
};

/** The largest batch, for when more samples than usual must be trained before they become too old. */
export const largestBatch = (batchSize: number): number => 8 * batchSize;

const common = {
  rules: 4,
  method: 'combine',
  verdictWeight: 1,
  hintWeight: 1,
  gapClip: 1,
  teacher: 'current',
  teacherAnchor: 0.3,
  hintCheck: true,
  ownWordsWeight: 0.3,
  hintedComplaintWeight: 1,
  distillation: 'sampled',
  topK: 4,
  forwardKl: 0.5,
  rank: 8,
  alpha: 16,
  minibatches: 1,
  epochs: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  fade: 0.9,
  stalenessCap: 2,
  mean: 'sample',
  baseline: true,
  leastBaseline: -0.5,
  klCoefficient: 0,
  klEstimator: 'k2',
  gradientClip: 1,
  weightDecay: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  gateLeastScale: 1 / 64,
  gateContent: 0.1,
  gateCollapse: 0.2,
  canaryShare: 0,
  rehearsal: 0,
  rehearsalWeight: 1,
} as const;

/** Full training moves all weights instead of an adapter's: it gets a tenth of the rate. */
const FULL_RATE_DIVISOR = 10;

/** Default settings for a model and a kind of training. */
export function defaultTrainingSettings(model: string, training: TrainingKind = 'lora'): TrainingDefaults {
  const { settings, ...rest } = isShipped(model) ? clawNano : anotherModel;
  const learningRate = isShipped(model) ? settings.learningRate : rateOf(model);
  const rate = training === 'full' ? learningRate / FULL_RATE_DIVISOR : learningRate;
  return { ...rest, settings: { ...settings, training, learningRate: rate } };
}

/** What the defaults depend on if a training server computes the steps. */
type ServerTraits = {
  readonly severalTargets: boolean;
  readonly topTokens: boolean;
  readonly gradientClip: boolean;
  readonly fixedAlpha: number | undefined;
  readonly largestBeta: number | undefined;
};

/**
 * Defaults for steps on a training server.
 * - alpha is that of the server. The rate falls as alpha rises, since both scale how far a step moves the policy.
 * - Without several tokens per position, a hint teaches by the sampled token alone.
 * - Nothing is rehearsed: that compares gradients, which no server gives away.
 * - claw-nano's own AdamW relies on clipping. Where the server cannot clip, it gets the usual AdamW, whose steps do not
 *   depend on the length of the gradient. That rate is not measured; a step that is too long is tried again with less.
 * - A server that limits the betas gets Tinker's own second one: its moments may be bf16, which round away what a larger
 *   beta adds.
 */
export function serverTrainingSettings(
  model: string,
  { severalTargets, topTokens, gradientClip, fixedAlpha, largestBeta }: ServerTraits,
): TrainingSettings {
  const { rehearsalBound: _, ...settings } = defaultTrainingSettings(model).settings;
  const alpha = fixedAlpha ?? settings.alpha;
  const usual = isShipped(model) && !gradientClip ? usualAdamW : undefined;
  return {
    ...settings,
    alpha,
    learningRate: (settings.learningRate * settings.alpha) / alpha,
    ...usual,
    ...(largestBeta !== undefined && { beta2: TINKER_BETA2 }),
    distillation: severalTargets && topTokens ? settings.distillation : 'sampled',
    rehearsal: 0,
  };
}

/** The default of the Tinker API's `AdamParams`. */
const TINKER_BETA2 = 0.95;
const usualAdamW = { learningRate: 3e-4, beta1: common.beta1, epsilon: common.epsilon };

/** A note at start for a model whose training settings are not measured. */
export const unmeasuredNote = (model: string): string | undefined =>
  isShipped(model)
    ? undefined
    : `the training settings for ${model} are not measured; they come from published recipes ` +
      '(docs/understand/learning.md#defaults-of-other-models). Each is a flag of the collector';

/**
 * By hidden size, with the formula that Tinker fitted for Qwen3 (rate * (2000 / hidden)^0.0775), at a fifth of its
 * 5e-4: that rate is for supervised batches, and our batches have four answers of one person.
 */
const qwen3Rates: readonly (readonly [size: RegExp, rate: number])[] = [
  [/qwen3-0\.6b/i, 1e-4],
  [/qwen3-1\.7b/i, 9.5e-5],
  [/qwen3-4b/i, 9.3e-5],
  [/qwen3-8b/i, 9e-5],
];

const rateOf = (model: string): number =>
  qwen3Rates.find(([size]) => size.test(model))?.[1] ?? anotherModel.settings.learningRate;

type AdapterDefaults = Omit<TrainingDefaults, 'settings'> & {
  readonly settings: Omit<TrainingSettings, 'training'>;
};

/**
 * claw-nano is thousands of times smaller than the models that AdamW at 1e-5 suits, and one person should see a
 * difference within a dozen replies. docs/understand/learning.md has the trials:
 * - epsilon is far above the root mean square of its gradients, so that a step is proportional to its gradient. At
 *   1e-8 every weight moves by the rate, even if its gradient is only noise.
 * - Without momentum no weight moves further than the latest verdicts ask.
 * - Several short steps within the bounds on the ratio, because one long step overshoots.
 * - A hint teaches over 16 tokens per position, which depends little on the topic of the answer; a verdict weighs all
 *   tokens of an answer equally, so it has less weight.
 * - Rehearsal restrains only a policy that is far from the base; otherwise a preference is learned too late.
 */
const clawNano: AdapterDefaults = {
  settings: {
    ...common,
    distillation: 'topk',
    topK: 16,
    hintWeight: 2,
    verdictWeight: 0.2,
    learningRate: 0.1,
    epsilon: 1e-2,
    beta1: 0,
    gradientClip: 0.1,
    epochs: 4,
    // half-life of the baseline: one verdict, so that expected praise moves little
    baselineDecay: 0.5,
    gateMeanKl: 0.06,
    gateBaseKl: 0.12,
    // one answer in 115 may be absurd, two may not
    gateAbsurd: 0.01,
    rehearsal: 4,
    rehearsalBound: 0.03,
  },
  batchSize: 2,
  maxStaleness: 4,
  waitedMs: undefined,
  wishPatience: 12,
};

/** ms: feedback from the evening is learned by the morning. */
const ONE_NIGHT = 8 * 3_600_000;

/**
 * Any other model; docs/understand/learning.md has the source of each number.
 * - A hint teaches over the 32 likeliest tokens. By the sampled token alone, with weights of 1 / 1 and a gap of at
 *   most 1 nat, no token of a criticised answer could ever rise.
 * - Adam moves every weight by the rate, noise or not, while its second moments are young: the rate rises over the
 *   first steps.
 */
const anotherModel: AdapterDefaults = {
  settings: {
    ...common,
    distillation: 'topk',
    topK: 32,
    hintWeight: 2,
    verdictWeight: 0.2,
    learningRate: 1e-4,
    warmUpSteps: 4,
    // half-life of the baseline: 7 verdicts, about two batches
    baselineDecay: 0.9,
    gateMeanKl: 0.05,
    gateBaseKl: 0.1,
  },
  batchSize: 4,
  maxStaleness: 4,
  waitedMs: ONE_NIGHT,
  // twelve batches, of which the first four only warm up
  wishPatience: 48,
};
