import type { Executor, Tensor } from '../executors/executor.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import { type AttentionSavedOnNative, attentionOnNative, attentionVjpOnNative } from './attention-native.ts';
import { type AttentionSavedOnWasm, attentionOnWasm, attentionVjpOnWasm } from './attention-wasm.ts';

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

export type AttentionSaved = AttentionSavedOnNative | AttentionSavedOnWasm;

/** What no position may see gets this added to its score. */
const MASKED = -1e9;

/**
 * Queries attend in blocks, each to what is before its end: long sequences cost little more than half as much.
 * Without a derivative, a block has so many positions.
 */
const blockPositions = 256;

/**
 * Native, with a derivative: so many blocks from so many positions on, else one. Fixed, since every count of
 * blocks is a graph of its own.
 */
const [differentiableBlocks, differentiableFrom] = [4, 256];

/** What all layers share for sequences of one length. */
export type CausalBlocks = {
  /** Query positions per block; the last block may be shorter. */
  readonly block: number;
  /** Native only, per block: [its queries, all keys up to its end]. */
  readonly masks: readonly Tensor[];
  /** Whether attention saves what its derivative needs. */
  readonly backward: boolean;
};

/** @param wanted with `backward`, all positions are one block on wasm: its derivative needs that */
export function causalBlocks(
  executor: Executor,
  positions: number,
  { backward }: { readonly backward: boolean },
): CausalBlocks {
  if (executor.kind === 'wasm')
    return { block: backward ? positions : Math.min(positions, blockPositions), masks: [], backward };
  const count = positions < differentiableFrom ? 1 : differentiableBlocks;
  const block = backward ? Math.ceil(positions / count) : Math.min(positions, blockPositions);
  const masks: Tensor[] = [];
  for (let start = 0; start < positions; start += block) {
    const end = Math.min(start + block, positions);
    const values = new Float32Array((end - start) * end);
    for (let i = start; i < end; i++) values.fill(MASKED, (i - start) * end + i + 1, (i - start + 1) * end);
    masks.push(executor.upload(values, [end - start, end]));
  }
  return { block, masks, backward };
}

/**
 * Causal attention, softmax(q k^T) v, over whole sequences (the queries carry the scale already). Sequences
 * shorter than `positions` are padded at their end: no real position sees the padding.
 *
 * @param queryKey after RoPE: [batch, positions, heads + keyValueHeads, headSize], query heads first
 * @param value [batch * positions, keyValueHeads * headSize]
 * @returns [batch * positions, heads * headSize]
 */
export function attention(
  executor: Executor,
  queryKey: Tensor,
  value: Tensor,
  shape: AttentionShape,
  blocks: CausalBlocks,
): { readonly output: Tensor; readonly saved: AttentionSaved } {
  return executor.kind === 'native'
    ? attentionOnNative(executor, queryKey, value, shape, blocks)
    : attentionOnWasm(executor, queryKey, value, shape, blocks.block);
}

/**
 * With P = softmax(S), S = q k^T: dv = P^T dO; dP = dO v^T; dS = P (dP - rowsum(P dP)); dq = dS k; dk = dS^T
 * q.
 * @returns gradients in the shapes of attention's inputs
 */
export function attentionVjp(
  executor: Executor,
  saved: AttentionSaved,
  dy: Tensor,
  shape: AttentionShape,
): { readonly dqueryKey: Tensor; readonly dvalue: Tensor } {
  if (executor.kind === 'native' && 'parts' in saved) return attentionVjpOnNative(executor, saved, dy, shape);
  if (executor.kind === 'wasm' && 'groups' in saved)
    return attentionVjpOnWasm(executor as WasmExecutor, saved, dy, shape);
  throw new Error('saved on another executor');
}
