import type { Executor, Tensor } from '../executors/executor.ts';
import type { NativeExecutor } from '../executors/native.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import { reshape } from './arithmetic.ts';
import { type AttentionSavedOnWasm, attentionOnWasm, attentionVjpOnWasm } from './attention-wasm.ts';

/** Sizes of one causal self-attention with grouped queries: each key/value head serves heads / keyValueHeads query heads. */
export type AttentionShape = {
  readonly batch: number;
  readonly positions: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
};

export type AttentionSavedOnNative = {
  /** [batch, keyValueHeads, group * positions, headSize] */
  readonly query: Tensor;
  /** [batch, keyValueHeads, positions, headSize] */
  readonly key: Tensor;
  readonly value: Tensor;
  /** [batch, heads, positions, positions] */
  readonly probabilities: Tensor;
};
export type AttentionSaved = AttentionSavedOnNative | AttentionSavedOnWasm;

const softmax = { T: 'float32' } as const;
const float = softmax;
const transpose = { T: 'float32', Tperm: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const concat = { T: 'float32', Tidx: 'int32', N: 2 } as const;
const sum = { T: 'float32', Tidx: 'int32', keep_dims: true } as const;
const product = [
  { T: 'float32', adj_x: false, adj_y: false },
  { T: 'float32', adj_x: false, adj_y: true },
  { T: 'float32', adj_x: true, adj_y: false },
] as const;
const [plain, secondTransposed, firstTransposed] = product;

/** What no position may see gets this added to its score. */
const MASKED = -1e9;

/** Native only: [positions, positions], to be made once per forward and given to every layer. */
export function causalMask(executor: Executor, positions: number): Tensor | undefined {
  if (executor.kind === 'wasm') return undefined;
  const values = new Float32Array(positions * positions);
  for (let i = 0; i < positions; i++) values.fill(MASKED, i * positions + i + 1, (i + 1) * positions);
  return executor.upload(values, [positions, positions]);
}

/**
 * Causal attention, softmax(q k^T) v, over whole sequences (the queries carry the scale already). Sequences shorter than
 * `positions` are padded at their end: no real position sees the padding.
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
  mask: Tensor | undefined,
): { readonly output: Tensor; readonly saved: AttentionSaved } {
  return executor.kind === 'native'
    ? onNative(executor, queryKey, value, shape, mask!)
    : attentionOnWasm(executor, queryKey, value, shape);
}

/**
 * With P = softmax(S), S = q k^T: dv = P^T dO; dP = dO v^T; dS = P (dP - rowsum(P dP)); dq = dS k; dk = dS^T q.
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
  mask: Tensor,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const grouped = [batch, keyValueHeads, (heads / keyValueHeads) * positions];
  const sizes = executor.integers([heads, keyValueHeads]);
  const [q, key] = executor.runMany(
    'SplitV',
    [swap(executor, queryKey), sizes, executor.integers(1)],
    split,
    2,
  );
  const query = reshape(executor, q!, [...grouped, headSize]);
  const value = swap(executor, reshape(executor, v, [batch, positions, keyValueHeads, headSize]));
  const scores = executor.run('BatchMatMulV2', [query, key!], secondTransposed); // [batch, keyValueHeads, group * positions, positions]
  const masked = executor.run(
    'AddV2',
    [reshape(executor, scores, [batch, heads, positions, positions]), mask],
    float,
  );
  const probabilities = executor.run('Softmax', [masked], softmax); // [batch, heads, positions, positions]
  const perGroup = reshape(executor, probabilities, [...grouped, positions]);
  const mixed = executor.run('BatchMatMulV2', [perGroup, value], plain); // [batch, keyValueHeads, group * positions, headSize]
  const merged = swap(executor, reshape(executor, mixed, [batch, heads, positions, headSize]));
  return {
    output: reshape(executor, merged, [batch * positions, heads * headSize]),
    saved: { query, key: key!, value, probabilities },
  };
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
  const p = reshape(executor, saved.probabilities, [...grouped, positions]);
  const split4 = swap(executor, reshape(executor, dy, [batch, positions, heads, headSize]));
  const dout = reshape(executor, split4, [...grouped, headSize]);
  const dv = executor.run('BatchMatMulV2', [p, dout], firstTransposed); // [batch, keyValueHeads, positions, headSize]
  const dp = executor.run('BatchMatMulV2', [dout, value], secondTransposed); // [batch, keyValueHeads, group * positions, positions]
  const weighted = executor.run('Mul', [p, dp], float);
  const rowSum = executor.run('Sum', [weighted, executor.integers([-1])], sum);
  const ds = executor.run('Sub', [weighted, executor.run('Mul', [p, rowSum], float)], float);
  const dq = executor.run('BatchMatMulV2', [ds, key], plain); // as query
  const dk = executor.run('BatchMatMulV2', [ds, query], firstTransposed); // as key
  const dqHeads = reshape(executor, dq, [batch, heads, positions, headSize]);
  const joined = executor.run('ConcatV2', [dqHeads, dk, executor.integers(1)], concat);
  return {
    dqueryKey: swap(executor, joined),
    dvalue: reshape(executor, swap(executor, dv), [batch * positions, keyValueHeads * headSize]),
  };
}
