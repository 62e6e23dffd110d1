import type { DialectName } from '../../shared/tinker/training-server.ts';
import type { Arithmetic } from './trained-models.ts';

/** How a kind of server behaves, as far as the fake imitates it. */
export type FakeTraits = Arithmetic & {
  readonly protobuf: boolean;
  /** executes by sequence number, and a repeated number once */
  readonly deduplicates: boolean;
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
  metric: undefined,
  failure: 'detail',
  pending: '408',
  hasForward: true,
  adapter: 'archive',
  severalTargets: false,
  alpha: undefined,
  quietBackward: false,
};

export const traitsOf: Readonly<Record<DialectName, FakeTraits>> = {
  tinker: {
    ...selfHosted,
    clips: true,
    protobuf: true,
    deduplicates: true,
    metric: 'unclipped_grad_l2:mean',
    failure: 'error',
    pending: 'try-again',
    adapter: 'external',
    severalTargets: true,
  },
  fireworks: {
    ...selfHosted,
    deduplicates: true,
    failure: 'error',
    pending: 'try-again',
    adapter: 'promoted',
    alpha: 'alpha',
    quietBackward: true,
  },
  'skyrl-jax': { ...selfHosted, reduction: 'mean', metric: 'skyrl.ai/grad_norm' },
  'skyrl-train': { ...selfHosted, adam: 'rate', metric: 'skyrl.ai/grad_norm', adapter: 'none' },
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
