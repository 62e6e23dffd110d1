import type { Executor, Tensor } from '../executors/executor.ts';
import type { Attributes } from '../executors/native.ts';

export type MatmulOptions = { readonly transposeA?: boolean; readonly transposeB?: boolean };

const attributes = [false, true].map((transpose_a) =>
  [false, true].map((transpose_b): Attributes => ({ T: 'float32', transpose_a, transpose_b })),
);

/** a [m, k] times b [k, n], each optionally given transposed. Returns [m, n]. */
export function matmul(executor: Executor, a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  const { transposeA = false, transposeB = false } = options;
  if (executor.kind === 'native') {
    return executor.run('MatMul', [a, b], attributes[Number(transposeA)]![Number(transposeB)]!);
  }
  if (!transposeA && !transposeB) return executor.matmul(a, b);
  return executor.scope(() =>
    executor.matmul(
      transposeA ? executor.transpose(a) : a, // [m, k]
      transposeB ? executor.transpose(b) : b, // [k, n]
    ),
  );
}

/** Gradients of `matmul(a, b)` without transposes: da = dy b^T, db = a^T dy. */
export function matmulVjp(executor: Executor, a: Tensor, b: Tensor, dy: Tensor): { da: Tensor; db: Tensor } {
  return {
    da: matmul(executor, dy, b, { transposeB: true }), // [m, k]
    db: matmul(executor, a, dy, { transposeA: true }), // [k, n]
  };
}
