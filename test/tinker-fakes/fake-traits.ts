import type { DialectName } from '../../shared/tinker/training-server.ts';
import type { Arithmetic } from './trained-models.ts';

/** How a kind of server behaves, as far as the fake imitates it. */
export type FakeTraits = Arithmetic & {
  readonly protobuf: boolean;
  /** executes by sequence number, and a repeated number once */
  readonly deduplicates: boolean;
  /** refuses to save under a name that exists, even if the request is a repeated one */
  readonly refusesNames: boolean;
  readonly metric: string | undefined;
  /** how a failed call looks */
  readonly failure: 'detail' | 'request-failed' | 'error';
  /** how an unfinished poll looks */
  readonly pending: '408' | 'try-again';
  readonly hasForward: boolean;
  readonly adapter: 'archive' | 'external' | 'promoted' | 'none';
  readonly severalTargets: boolean;
  readonly alpha: 'alpha' | 'lora_alpha' | undefined;
  /** answers a backward call without log-probs */
  readonly quietBackward: boolean;
};

const selfHosted: FakeTraits = {
  reduction: 'sum',
  adam: 'request',
  clips: false,
  protobuf: false,
  deduplicates: false,
  refusesNames: true,
  metric: undefined,
  failure: 'detail',
  pending: '408',
  hasForward: true,
  adapter: 'archive',
  severalTargets: false,
  alpha: undefined,
  quietBackward: false,
};

/** From version 0.4.0 on. The fake takes JSON too, for clients of a wrong dialect. */
const skyrl = { ...selfHosted, protobuf: true, deduplicates: true, metric: 'skyrl.ai/grad_norm' } as const;

export const traitsOf: Readonly<Record<DialectName, FakeTraits>> = {
  tinker: {
    ...selfHosted,
    clips: true,
    protobuf: true,
    deduplicates: true,
    refusesNames: false,
    metric: 'unclipped_grad_l2:mean',
    failure: 'error',
    pending: 'try-again',
    adapter: 'external',
    severalTargets: true,
  },
  fireworks: {
    ...selfHosted,
    deduplicates: true,
    refusesNames: false,
    failure: 'error',
    pending: 'try-again',
    adapter: 'promoted',
    alpha: 'alpha',
    quietBackward: true,
  },
  'skyrl-jax': { ...skyrl, reduction: 'mean' },
  'skyrl-train': { ...skyrl, adam: 'rate', adapter: 'none' },
  'open-rl': {
    ...selfHosted,
    adam: 'first betas',
    metric: 'grad_norm:mean',
    failure: 'request-failed',
    hasForward: false,
    adapter: 'none',
    alpha: 'lora_alpha',
  },
};
