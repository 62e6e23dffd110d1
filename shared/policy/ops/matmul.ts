import type { Executor, Tensor } from '../executors/executor.ts';
import type { Attributes } from '../executors/native.ts';

export type MatmulOptions = { readonly transposeA?: boolean; readonly transposeB?: boolean };

const attributes = [false, true].map((transpose_a): Attributes => {
  return { T: 'float32', transpose_a, transpose_b: false };
});
const batched = [false, true].map((adj_x): Attributes => ({ T: 'float32', adj_x, adj_y: true }));
const permutation = { T: 'float32', Tperm: 'int32' } as const;

/** a [m, n] as [n, m]. */
export function transpose(executor: Executor, a: Tensor): Tensor {
  if (executor.kind === 'wasm') return executor.transpose(a);
  return executor.run('Transpose', [a, executor.integers([1, 0])], permutation);
}

/** a [m, k] times b [k, n], each optionally given transposed. Returns [m, n]. */
export function matmul(executor: Executor, a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  const { transposeA = false, transposeB = false } = options;
  if (executor.kind === 'native') {
    // With b transposed oneDNN's MatMul copies b in another order first; its product of batches does not.
    if (transposeB) return executor.run('BatchMatMulV2', [a, b], batched[Number(transposeA)]!);
    return executor.run('MatMul', [a, b], attributes[Number(transposeA)]!);
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
