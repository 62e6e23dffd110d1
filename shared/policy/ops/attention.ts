import type { Executor, Tensor } from '../executors/executor.ts';
import { type AttentionSavedOnNative, attentionOnNative, attentionVjpOnNative } from './attention-native.ts';
import type { AttentionShape, CausalBlocks, QueriesKeysValues } from './attention-shape.ts';
import { type AttentionSavedOnWasm, attentionOnWasm, attentionVjpOnWasm } from './attention-wasm.ts';

export type AttentionSaved = AttentionSavedOnNative | AttentionSavedOnWasm;

/** Added to the scores of positions that a query must not see. */
const MASKED = -1e9;

/**
 * Queries attend in blocks, each to the positions before its end: long sequences cost little more than half
 * as much. This is the block size, in positions, when no derivative is computed.
 */
const blockPositions = 256;

/**
 * On native with a derivative: the number of blocks for sequences of at least `differentiableFrom` positions;
 * shorter sequences are one block. The number is fixed because every number of blocks is a separate graph.
 */
const [differentiableBlocks, differentiableFrom] = [4, 256];

/** With `backward`, all positions are one block on wasm: its derivative needs that. */
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
 * Causal attention, softmax(q k^T) v, over whole sequences. Sequences shorter than `positions` are padded at
 * their end: no real position sees the padding.
 *
 * @returns [batch * positions, heads * headSize]
 */
export function attention(
  executor: Executor,
  inputs: QueriesKeysValues,
  shape: AttentionShape,
  blocks: CausalBlocks,
): { readonly output: Tensor; readonly saved: AttentionSaved } {
  return executor.kind === 'native'
    ? attentionOnNative(executor, inputs, shape, blocks)
    : attentionOnWasm(executor, inputs, shape, blocks.block);
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
  if (executor.kind === 'wasm' && 'groups' in saved) return attentionVjpOnWasm(executor, saved, dy, shape);
  throw new Error('activations were saved on another executor');
}
