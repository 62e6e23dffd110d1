import type { NativeExecutor, Tensor } from '../executors/executor.ts';
import type { Attributes } from '../executors/op-attributes.ts';
import { reshape } from './arithmetic.ts';
import type { AttentionShape, CausalBlocks, QueriesKeysValues } from './attention-shape.ts';

export type AttentionSavedOnNative = {
  /** [batch, keyValueHeads, positions, headSize] */
  readonly key: Tensor;
  readonly value: Tensor;
  /** As attention returns it. */
  readonly output: Tensor;
  /** Empty if no derivative is computed. */
  readonly parts: readonly Part[];
};

/** One block of queries, `rows` of them, over all `seen` positions up to its end. */
type Part = {
  /** [batch, keyValueHeads, group * rows, headSize] */
  readonly query: Tensor;
  /** [batch, keyValueHeads, group * rows, seen] */
  readonly probabilities: Tensor;
};

const float = { T: 'float32' } as const;
const transpose = { T: 'float32', Tperm: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const slice = { T: 'float32', Index: 'int32' } as const;
const sum = { T: 'float32', Tidx: 'int32', keep_dims: true } as const;
const product = [
  { T: 'float32', adj_x: false, adj_y: false },
  { T: 'float32', adj_x: false, adj_y: true },
  { T: 'float32', adj_x: true, adj_y: false },
] as const;
const [plain, secondTransposed, firstTransposed] = product;
const concats = new Map<number, Attributes>();
function concatOf(count: number): Attributes {
  const known = concats.get(count) ?? { T: 'float32', Tidx: 'int32', N: count };
  concats.set(count, known);
  return known;
}

/** Swaps the two middle axes of four. */
const swap = (executor: NativeExecutor, x: Tensor): Tensor =>
  executor.run('Transpose', [x, executor.integers([0, 2, 1, 3])], transpose);

/** Positions [start, end) of [batch, heads, positions, size]: a copy, unless it is all positions. */
function positionsOf(executor: NativeExecutor, x: Tensor, start: number, end: number): Tensor {
  const [batch, heads, positions, size] = x.shape as [number, number, number, number];
  if (end - start === positions) return x;
  const sizes = executor.integers([batch, heads, end - start, size]);
  return executor.run('Slice', [x, executor.integers([0, 0, start, 0]), sizes], slice);
}

/** Joins positions. */
const concat = (executor: NativeExecutor, parts: readonly Tensor[]): Tensor =>
  parts.length === 1
    ? parts[0]!
    : executor.run('ConcatV2', [...parts, executor.integers(2)], concatOf(parts.length));

export function attentionOnNative(
  executor: NativeExecutor,
  inputs: QueriesKeysValues,
  shape: AttentionShape,
  { block, masks, backward }: CausalBlocks,
): { readonly output: Tensor; readonly saved: AttentionSavedOnNative } {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const sizes = executor.integers([heads, keyValueHeads]);
  const splitInputs = [swap(executor, inputs.queryKey), sizes, executor.integers(1)];
  const [queries, keys] = executor.runMany('SplitV', splitInputs, split, 2);
  const value = swap(executor, reshape(executor, inputs.value, [batch, positions, keyValueHeads, headSize]));
  const attend = (mask: Tensor, index: number): { readonly mixed: Tensor; readonly part: Part[] } => {
    const [rows, seen] = mask.shape as [number, number];
    const grouped = [batch, keyValueHeads, (heads / keyValueHeads) * rows];
    const blockQueries = positionsOf(executor, queries!, index * block, seen);
    const query = reshape(executor, blockQueries, [...grouped, headSize]);
    const before = positionsOf(executor, keys!, 0, seen);
    const scores = executor.run('BatchMatMulV2', [query, before], secondTransposed); // [...grouped, seen]
    const perHead = reshape(executor, scores, [batch, heads, rows, seen]);
    const softmax = executor.run('Softmax', [executor.run('AddV2', [perHead, mask], float)], float);
    const probabilities = reshape(executor, softmax, [...grouped, seen]);
    const inner = [probabilities, positionsOf(executor, value, 0, seen)];
    const mixed = executor.run('BatchMatMulV2', inner, plain); // [...grouped, headSize]
    return {
      mixed: reshape(executor, mixed, [batch, heads, rows, headSize]),
      part: backward ? [{ query, probabilities }] : [],
    };
  };
  const attended = masks.map((mask, index) => executor.scope(() => attend(mask, index)));
  const joined = concat(
    executor,
    attended.map(({ mixed }) => mixed),
  ); // [batch, heads, positions, headSize]
  const output = reshape(executor, swap(executor, joined), [batch * positions, heads * headSize]);
  return { output, saved: { key: keys!, value, output, parts: attended.flatMap(({ part }) => part) } };
}

/** rowsum(P dP) is rowsum(O dO) (Dao et al. 2022, appendix B.4): headSize columns instead of all positions. */
export function attentionVjpOnNative(
  executor: NativeExecutor,
  { key, value, output, parts }: AttentionSavedOnNative,
  dy: Tensor,
  shape: AttentionShape,
): { readonly dqueryKey: Tensor; readonly dvalue: Tensor } {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  if (parts.length === 0) throw new Error('attention saved nothing for its derivative');
  const perHead = (x: Tensor): Tensor => reshape(executor, x, [batch, positions, heads, headSize]);
  const dout = swap(executor, perHead(dy)); // [batch, heads, positions, headSize]
  const weighted = perHead(executor.run('Mul', [dy, output], float));
  // [batch, heads, positions, 1]
  const rowSums = swap(executor, executor.run('Sum', [weighted, executor.integers([-1])], sum));

  /** Gradients of the block's queries, and its part of those of keys and values up to its end. */
  const differentiate = ({ query, probabilities }: Part) => {
    const seen = probabilities.shape[3]!;
    const rows = query.shape[2]! / (heads / keyValueHeads);
    const ofBlock = (x: Tensor, width: number): Tensor =>
      reshape(executor, positionsOf(executor, x, seen - rows, seen), [...query.shape.slice(0, 3), width]);
    const gradient = ofBlock(dout, headSize);
    const dv = executor.run('BatchMatMulV2', [probabilities, gradient], firstTransposed);
    const values = positionsOf(executor, value, 0, seen);
    const dp = executor.run('BatchMatMulV2', [gradient, values], secondTransposed); // as probabilities
    const centred = executor.run('Sub', [dp, ofBlock(rowSums, 1)], float);
    const ds = executor.run('Mul', [probabilities, centred], float);
    const dq = executor.run('BatchMatMulV2', [ds, positionsOf(executor, key, 0, seen)], plain); // as query
    const dk = executor.run('BatchMatMulV2', [ds, query], firstTransposed); // [.., seen, headSize]
    return { dq: reshape(executor, dq, [batch, heads, rows, headSize]), dk, dv, seen };
  };
  const gradients = parts.map((part) => executor.scope(() => differentiate(part)));
  const dqueries = concat(
    executor,
    gradients.map(({ dq }) => dq),
  );
  const dkeys = addPrefixes(
    executor,
    gradients.map(({ dk }) => dk),
  );
  const dvalues = addPrefixes(
    executor,
    gradients.map(({ dv }) => dv),
  );
  const joined = executor.run('ConcatV2', [dqueries, dkeys, executor.integers(1)], concatOf(2));
  return {
    dqueryKey: swap(executor, joined),
    dvalue: reshape(executor, swap(executor, dvalues), [batch * positions, keyValueHeads * headSize]),
  };
}

/** Sum of parts that all begin at the first position; each is longer than the previous. */
function addPrefixes(executor: NativeExecutor, parts: readonly Tensor[]): Tensor {
  return parts.slice(1).reduce((total, part) => {
    const [reached, end] = [total.shape[2]!, part.shape[2]!];
    const both = executor.run('AddV2', [positionsOf(executor, part, 0, reached), total], float);
    return concat(executor, [both, positionsOf(executor, part, reached, end)]);
  }, parts[0]!);
}
