import type { Executor, Tensor } from '../executors/executor.ts';
import type { Attributes, NativeExecutor } from '../executors/native.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import { reshape } from './arithmetic.ts';
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

export type AttentionSavedOnNative = {
  /** [batch, keyValueHeads, group * positions, headSize] */
  readonly query: Tensor | undefined;
  /** [batch, keyValueHeads, positions, headSize] */
  readonly key: Tensor;
  readonly value: Tensor;
  /** [batch, heads, positions, positions]; like query, only of a single block. */
  readonly probabilities: Tensor | undefined;
};
export type AttentionSaved = AttentionSavedOnNative | AttentionSavedOnWasm;

const softmax = { T: 'float32' } as const;
const float = softmax;
const transpose = { T: 'float32', Tperm: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const slice = { T: 'float32', Index: 'int32' } as const;
const concats = new Map<number, Attributes>();
function concatOf(count: number): Attributes {
  const known = concats.get(count) ?? { T: 'float32', Tidx: 'int32', N: count };
  concats.set(count, known);
  return known;
}
const sum = { T: 'float32', Tidx: 'int32', keep_dims: true } as const;
const product = [
  { T: 'float32', adj_x: false, adj_y: false },
  { T: 'float32', adj_x: false, adj_y: true },
  { T: 'float32', adj_x: true, adj_y: false },
] as const;
const [plain, secondTransposed, firstTransposed] = product;

/** What no position may see gets this added to its score. */
const MASKED = -1e9;

/**
 * Queries of so many positions attend together, to what is before their end: long prompts cost half as much.
 */
const blockPositions = 256;

/** What all layers share for sequences of one length. */
export type CausalBlocks = {
  /** Query positions per block; the last block may be shorter. */
  readonly block: number;
  /** Native only, per block: [its queries, all keys up to its end]. */
  readonly masks: readonly Tensor[];
};

/** @param wanted with `backward`, all positions are one block: the derivative needs that */
export function causalBlocks(
  executor: Executor,
  positions: number,
  wanted: { readonly backward: boolean },
): CausalBlocks {
  const block = wanted.backward ? positions : Math.min(positions, blockPositions);
  if (executor.kind === 'wasm') return { block, masks: [] };
  const masks: Tensor[] = [];
  for (let start = 0; start < positions; start += block) {
    const end = Math.min(start + block, positions);
    const values = new Float32Array((end - start) * end);
    for (let i = start; i < end; i++) values.fill(MASKED, (i - start) * end + i + 1, (i - start + 1) * end);
    masks.push(executor.upload(values, [end - start, end]));
  }
  return { block, masks };
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
    ? onNative(executor, queryKey, value, shape, blocks)
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
  if (executor.kind === 'native' && 'probabilities' in saved) return vjpOnNative(executor, saved, dy, shape);
  if (executor.kind === 'wasm' && 'groups' in saved)
    return attentionVjpOnWasm(executor as WasmExecutor, saved, dy, shape);
  throw new Error('saved on another executor');
}

/** Swaps the two middle axes of four. */
const swap = (executor: NativeExecutor, x: Tensor): Tensor =>
  executor.run('Transpose', [x, executor.integers([0, 2, 1, 3])], transpose);

function onNative(
  executor: NativeExecutor,
  queryKey: Tensor,
  v: Tensor,
  shape: AttentionShape,
  { block, masks }: CausalBlocks,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const axis = executor.integers(1);
  const sizes = executor.integers([heads, keyValueHeads]);
  const [q, key] = executor.runMany('SplitV', [swap(executor, queryKey), sizes, axis], split, 2);
  const value = swap(executor, reshape(executor, v, [batch, positions, keyValueHeads, headSize]));

  /** Queries from `start` on over keys up to their own end. */
  const attend = (queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) => {
    const [rows, seen] = mask.shape as [number, number];
    const grouped = [batch, keyValueHeads, group * rows];
    const query = reshape(executor, queries, [...grouped, headSize]);
    // [batch, keyValueHeads, group * rows, seen]
    const scores = executor.run('BatchMatMulV2', [query, keys], secondTransposed);
    const perHead = reshape(executor, scores, [batch, heads, rows, seen]);
    const probabilities = executor.run('Softmax', [executor.run('AddV2', [perHead, mask], float)], softmax);
    const perGroup = reshape(executor, probabilities, [...grouped, seen]);
    // [batch, keyValueHeads, group * rows, headSize]
    const mixed = executor.run('BatchMatMulV2', [perGroup, values], plain);
    return { query, probabilities, mixed: reshape(executor, mixed, [batch, heads, rows, headSize]) };
  };
  const rowsOf = (matrix: Tensor, start: number, end: number): Tensor => {
    const size = [matrix.shape[0]!, matrix.shape[1]!, end - start, headSize];
    return executor.run(
      'Slice',
      [matrix, executor.integers([0, 0, start, 0]), executor.integers(size)],
      slice,
    );
  };
  const flatten = (mixed: Tensor): Tensor =>
    reshape(executor, swap(executor, mixed), [batch * positions, heads * headSize]);

  if (masks.length === 1) {
    const { query, probabilities, mixed } = attend(q!, key!, value, masks[0]!);
    return { output: flatten(mixed), saved: { query, key: key!, value, probabilities } };
  }
  const parts = masks.map((mask, index) =>
    executor.scope(() => {
      const [start, end] = [index * block, mask.shape[1]!];
      return attend(rowsOf(q!, start, end), rowsOf(key!, 0, end), rowsOf(value, 0, end), mask).mixed;
    }),
  );
  // [batch, heads, positions, headSize]
  const joined = executor.run('ConcatV2', [...parts, executor.integers(2)], concatOf(parts.length));
  return { output: flatten(joined), saved: { query: undefined, key: key!, value, probabilities: undefined } };
}

function vjpOnNative(
  executor: NativeExecutor,
  saved: AttentionSavedOnNative,
  dy: Tensor,
  shape: AttentionShape,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const grouped = [batch, keyValueHeads, (heads / keyValueHeads) * positions];
  const { query, key, value } = saved;
  if (query === undefined || saved.probabilities === undefined)
    throw new Error('attention in blocks has no derivative');
  const p = reshape(executor, saved.probabilities, [...grouped, positions]);
  const split4 = swap(executor, reshape(executor, dy, [batch, positions, heads, headSize]));
  const dout = reshape(executor, split4, [...grouped, headSize]);
  // [batch, keyValueHeads, positions, headSize]
  const dv = executor.run('BatchMatMulV2', [p, dout], firstTransposed);
  // [batch, keyValueHeads, group * positions, positions]
  const dp = executor.run('BatchMatMulV2', [dout, value], secondTransposed);
  const weighted = executor.run('Mul', [p, dp], float);
  const rowSum = executor.run('Sum', [weighted, executor.integers([-1])], sum);
  const ds = executor.run('Sub', [weighted, executor.run('Mul', [p, rowSum], float)], float);
  const dq = executor.run('BatchMatMulV2', [ds, key], plain); // as query
  const dk = executor.run('BatchMatMulV2', [ds, query], firstTransposed); // as key
  const dqHeads = reshape(executor, dq, [batch, heads, positions, headSize]);
  const joined = executor.run('ConcatV2', [dqHeads, dk, executor.integers(1)], concatOf(2));
  return {
    dqueryKey: swap(executor, joined),
    dvalue: reshape(executor, swap(executor, dv), [batch * positions, keyValueHeads * headSize]),
  };
}
