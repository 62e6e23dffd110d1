import type { Tensor } from '../executors/executor.ts';

/**
 * Sizes of one causal self-attention with grouped queries: each key/value head serves heads / keyValueHeads
 * query heads.
 */
export type AttentionShape = {
  readonly batch: number;
  readonly positions: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
};

/** The inputs of attention on one layer; the queries carry the softmax scale already. */
export type QueriesKeysValues = {
  /** After RoPE: [batch, positions, heads + keyValueHeads, headSize], query heads first. */
  readonly queryKey: Tensor;
  /** [batch * positions, keyValueHeads * headSize] */
  readonly value: Tensor;
};

/** What all layers share for sequences of one length. */
export type CausalBlocks = {
  /** Query positions per block; the last block may be shorter. */
  readonly block: number;
  /** Native only, per block: [its queries, all keys up to its end]. */
  readonly masks: readonly Tensor[];
  /** Whether attention saves what its derivative needs. */
  readonly backward: boolean;
};
