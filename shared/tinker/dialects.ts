import type { DialectName, ServerCapabilities } from './training-server.ts';

/** How the gradient dLoss/dlogProb = g is expressed as a loss of the server. */
export type Surrogate = {
  /**
   * `cross_entropy`: weights -g, since the loss is the sum of -weight * logProb. `importance_sampling`: advantages -g
   * at ratio 1, since its gradient is -ratio * advantage * dlogProb.
   */
  readonly loss: 'cross_entropy' | 'importance_sampling';
  /** sends `weights` that mask the prompt beside the advantages */
  readonly mask: boolean;
  /** The server averages over a sequence's tokens, then over all sequences until the optimizer step. */
  readonly averages: boolean;
};

/** Everything in which servers of the Tinker API differ, as far as this client meets it. */
export type Dialect = {
  readonly capabilities: ServerCapabilities;
  readonly surrogate: Surrogate;
  /** body of the training calls */
  readonly body: 'json' | 'protobuf' | 'protobuf, else json';
  /** `weightless`: there is no forward call; a backward call with weights of 0 adds no gradient */
  readonly forward: 'forward' | 'weightless';
  /** further members of `lora_config`, and the member that holds alpha where it can be set */
  readonly lora: { readonly members: Readonly<Record<string, number>>; readonly alpha: string | undefined };
  /** further members of the optimizer request and of its `adam_params` */
  readonly optimizer: {
    readonly members: Readonly<Record<string, string>>;
    readonly adam: Readonly<Record<string, string>>;
  };
  /** A new model begins with the gradient that another model has left in its place. */
  readonly inheritsGradients: boolean;
  /** names of the gradient's L2 norm before clipping among the optimizer's metrics */
  readonly gradientNorm: readonly string[];
  /** where a trained adapter is downloaded; `promoted`: as a model of the account, see fireworks-adapter.ts */
  readonly adapter: 'archive' | 'external' | 'promoted' | 'none';
  /** how often a 400 without an explanation is asked again */
  readonly unexplainedRefusals: number;
  /** may ask for short-lived credentials, and takes the end of a session */
  readonly hosted: boolean;
};

const selfHosted = {
  body: 'json',
  forward: 'forward',
  lora: { members: {}, alpha: undefined },
  optimizer: { members: {}, adam: {} },
  adapter: 'archive',
  unexplainedRefusals: 0,
  inheritsGradients: false,
  hosted: false,
} as const;

const plain: ServerCapabilities = {
  severalTargets: false,
  topTokens: false,
  gradientClip: false,
  adamPerRequest: true,
  largestBeta: undefined,
  stepsAllModels: false,
  fixedAlpha: 32,
  powerOfTwoRank: false,
  deduplicates: false,
  deletesStates: false,
  adapterDownload: true,
};

/** From version 0.4.0 on: earlier versions apply a repeated request twice, and take no protobuf. */
const skyrl = { ...selfHosted, body: 'protobuf', gradientNorm: ['skyrl.ai/grad_norm'] } as const;
const ofSkyrl: ServerCapabilities = { ...plain, deduplicates: true, deletesStates: true };

const summed = { loss: 'cross_entropy', mask: false, averages: false } as const;

/** Order: hosted, then self-hosted. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  tinker: {
    ...selfHosted,
    capabilities: {
      ...plain,
      severalTargets: true,
      topTokens: true,
      gradientClip: true,
      powerOfTwoRank: true,
      deduplicates: true,
      deletesStates: true,
    },
    surrogate: summed,
    body: 'protobuf, else json',
    gradientNorm: ['unclipped_grad_l2:mean'],
    adapter: 'external',
    unexplainedRefusals: 3,
    hosted: true,
  },
  fireworks: {
    ...selfHosted,
    capabilities: { ...plain, fixedAlpha: undefined, deduplicates: true },
    surrogate: summed,
    lora: { members: {}, alpha: 'alpha' },
    // its own client divides by the number of tokens by default
    optimizer: {
      members: { grad_accumulation_normalization: 'none' },
      adam: { emit_grad_norm_metrics: 'basic' },
    },
    gradientNorm: ['grad_norm', 'grad_norm:mean'],
    adapter: 'promoted',
    unexplainedRefusals: 3,
  },
  'skyrl-jax': {
    ...skyrl,
    inheritsGradients: true,
    // AdamW computes in the type of the weights. In bf16 a beta above 0.998 rounds to 1. Then the bias correction divides
    // 0 by 0, and one step makes the weights of every model on the server NaN, the base's included.
    capabilities: { ...ofSkyrl, largestBeta: 0.998, stepsAllModels: true },
    // cross_entropy would divide by the sum of the weights, of either sign: no multiple of g
    surrogate: { loss: 'importance_sampling', mask: true, averages: true },
  },
  'skyrl-train': {
    ...skyrl,
    // betas, epsilon, decay and the clipping to 1 come from the server's own configuration
    capabilities: { ...ofSkyrl, adamPerRequest: false, adapterDownload: false },
    surrogate: { loss: 'importance_sampling', mask: true, averages: false },
    adapter: 'none',
  },
  'open-rl': {
    ...selfHosted,
    // it keeps the betas of its first step
    capabilities: { ...plain, fixedAlpha: undefined, adapterDownload: false },
    surrogate: summed,
    forward: 'weightless',
    lora: { members: { lora_dropout: 0 }, alpha: 'lora_alpha' },
    gradientNorm: ['grad_norm:mean'],
    adapter: 'none',
  },
};
