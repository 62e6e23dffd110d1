import type { TrainingSettings } from '../events/training-settings.ts';
import type { DialectName, ServerCapabilities } from './training-server.ts';

type Place = {
  readonly dialect: DialectName;
  readonly capabilities: ServerCapabilities;
};

type Needed = Pick<
  TrainingSettings,
  'training' | 'method' | 'distillation' | 'teacher' | 'alpha' | 'rank' | 'rehearsal'
>;

type Rule<Settings> = {
  readonly applies: (settings: Settings, place: Place) => boolean;
  readonly refusal: (settings: Settings, place: Place) => string;
};

/** Each setting that a training server cannot follow, with the flag to change. The first that applies is named. */
const rules: readonly Rule<Needed>[] = [
  {
    applies: ({ training }) => training === 'full',
    refusal: () => 'it trains adapters, not all weights; set --training lora',
  },
  {
    applies: (_, { capabilities }) => !capabilities.adapterDownload,
    refusal: (_, { dialect }) => `a ${dialect} server does not give trained adapters away over HTTP`,
  },
  {
    applies: ({ method, distillation }, { capabilities: { severalTargets, topTokens } }) =>
      method !== 'binary' && distillation !== 'sampled' && !(severalTargets && topTokens),
    refusal: ({ distillation }, { dialect }) =>
      `a ${dialect} server takes one token per position, so distillation ${distillation} is impossible; set --collector-distillation sampled`,
  },
  {
    applies: ({ method, teacher }) => method !== 'binary' && teacher !== 'current' && teacher !== 'base',
    refusal: ({ teacher }) =>
      `it has no separate teacher ${teacher}; set --collector-teacher current or base`,
  },
  {
    applies: ({ alpha }, { capabilities: { fixedAlpha } }) =>
      fixedAlpha !== undefined && alpha !== fixedAlpha,
    refusal: ({ alpha }, { dialect, capabilities: { fixedAlpha } }) =>
      `a ${dialect} server always uses alpha ${fixedAlpha}, not ${alpha}; set --collector-alpha ${fixedAlpha}`,
  },
  {
    applies: ({ rank }, { capabilities }) =>
      capabilities.powerOfTwoRank && !Number.isInteger(Math.log2(rank)),
    refusal: ({ rank }, { dialect }) =>
      `a ${dialect} server takes only ranks that are powers of two, not ${rank}; set --collector-rank`,
  },
  {
    applies: ({ rehearsal }) => rehearsal > 0,
    refusal: () =>
      'rehearsal compares gradients, which a server does not give away; set --collector-rehearsal 0',
  },
];

type Adam = Pick<TrainingSettings, 'beta1' | 'beta2' | 'epsilon' | 'weightDecay'>;

const betaRule = (name: 'beta1' | 'beta2'): Rule<Adam> => ({
  applies: (settings, { capabilities: { largestBeta = 1 } }) => settings[name] > largestBeta,
  refusal: (_, { dialect, capabilities: { largestBeta } }) =>
    `a ${dialect} server computes AdamW in the type of its model, which may be bf16; there a beta above ${largestBeta} rounds to 1 and makes the weights NaN; set --collector-${name} ${largestBeta} or less`,
});

/** Numbers with which AdamW changes or breaks other models on the server. */
const adamRules: readonly Rule<Adam>[] = [
  {
    applies: ({ epsilon }, { capabilities }) => capabilities.stepsAllModels && epsilon <= 0,
    refusal: (_, { dialect }) =>
      `without epsilon, the AdamW of a ${dialect} server divides 0 by 0; set --collector-epsilon`,
  },
  {
    applies: ({ weightDecay }, { capabilities }) => capabilities.stepsAllModels && weightDecay > 0,
    refusal: (_, { dialect }) =>
      `a ${dialect} server decays the weights of every model that is loaded; set --collector-weight-decay 0`,
  },
  betaRule('beta1'),
  betaRule('beta2'),
];

function firstRefusal<Settings>(
  among: readonly Rule<Settings>[],
  settings: Settings,
  place: Place,
): string | undefined {
  const found = among.find(({ applies }) => applies(settings, place));
  return found && `the training server cannot do this: ${found.refusal(settings, place)}`;
}

/** Why a training server cannot train with these settings; undefined: it can. */
export const unsupportedSettings = (settings: Needed, place: Place): string | undefined =>
  firstRefusal(rules, settings, place);

/**
 * The same for AdamW, asked at start alone. A batch that is already open is trained, because earlier programs trained
 * such batches; only its betas are lowered.
 */
export const unsupportedAdam = (settings: Adam, place: Place): string | undefined =>
  firstRefusal(adamRules, settings, place);
