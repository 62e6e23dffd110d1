import type { Executor, Tensor } from '../executors/executor.ts';
import { add, addAll, addToRows, columnSums } from './arithmetic.ts';
import { matmul, transpose } from './matmul.ts';

/**
 * A linear layer on an executor. `matrix` is [in, out], which is fastest for few rows; Hugging Face stores
 * [out, in].
 */
export type Linear = { readonly matrix: Tensor; readonly bias: Tensor | undefined };

/**
 * Low-rank addition to a linear layer (Hu et al. 2021): y += (x a^T) b^T, with alpha / r already inside `b`. Same
 * layout as `matrix`.
 */
export type LowRank = { readonly a: Tensor; readonly b: Tensor };

export type LinearSaved = { readonly input: Tensor; readonly reduced: Tensor | undefined };
export type LinearGradients = {
  readonly weight: Tensor | undefined;
  readonly bias: Tensor | undefined;
  readonly a: Tensor | undefined;
  readonly b: Tensor | undefined;
};

/** Uploads a weight that is [out, in]. */
export function uploadMatrix(
  executor: Executor,
  values: Float32Array,
  outputs: number,
  inputs: number,
): Tensor {
  return executor.scope(() => transpose(executor, executor.upload(values, [outputs, inputs])));
}

/** x [rows, in] times the weight transposed: [rows, out]. */
function forward(executor: Executor, x: Tensor, matrix: Tensor): Tensor {
  return matmul(executor, x, matrix);
}

/** dy [rows, out] times the weight: [rows, in]. */
function backward(executor: Executor, dy: Tensor, matrix: Tensor): Tensor {
  return matmul(executor, dy, matrix, { transposeB: true });
}

/** y = x W^T + bias + (x a^T) b^T. */
export function linear(
  executor: Executor,
  x: Tensor,
  { matrix, bias }: Linear,
  lowRank?: LowRank,
): { readonly output: Tensor; readonly saved: LinearSaved } {
  let output = forward(executor, x, matrix); // [rows, out]
  if (bias !== undefined) output = addToRows(executor, output, bias);
  if (lowRank === undefined) return { output, saved: { input: x, reduced: undefined } };
  const reduced = forward(executor, x, lowRank.a); // [rows, r]
  output = add(executor, output, forward(executor, reduced, lowRank.b));
  return { output, saved: { input: x, reduced } };
}

/**
 * With u = x a^T: dx = dy W + (dy b) a; dW = dy^T x; db = dy^T u; da = (dy b)^T x. Gradients are [out, in] on
 * every executor; that of `b` is with respect to b as uploaded, with alpha / r inside.
 */
export function linearVjp(
  executor: Executor,
  {
    matrix,
    bias,
    lowRank,
    saved,
  }: Linear & { readonly lowRank?: LowRank | undefined; readonly saved: LinearSaved },
  dy: Tensor,
  wanted: { readonly weights: boolean },
): { readonly dx: Tensor; readonly gradients: LinearGradients } {
  const transposed = { transposeA: true };
  const reducedGradient = lowRank && backward(executor, dy, lowRank.b); // [rows, r]
  const dx = addAll(executor, [
    backward(executor, dy, matrix), // [rows, in]
    lowRank && backward(executor, reducedGradient!, lowRank.a),
  ]);
  const gradients = {
    weight: wanted.weights ? matmul(executor, dy, saved.input, transposed) : undefined,
    bias: wanted.weights && bias ? columnSums(executor, dy) : undefined,
    a: lowRank && matmul(executor, reducedGradient!, saved.input, transposed),
    b: lowRank && matmul(executor, dy, saved.reduced!, transposed),
  };
  return { dx, gradients };
}
