import type { Executor, Tensor } from '../executors/executor.ts';
import type { Attributes } from '../executors/op-attributes.ts';

type MatmulOptions = { readonly transposeA?: boolean; readonly transposeB?: boolean };

const attributes = [false, true].map((transpose_a): Attributes => {
  return { T: 'float32', transpose_a, transpose_b: false };
});
const batched = [false, true].map((adj_x): Attributes => ({ T: 'float32', adj_x, adj_y: true }));
const permutation = { T: 'float32', Tperm: 'int32' } as const;

/** Transposes a [m, n] to [n, m]. */
export function transpose(executor: Executor, a: Tensor): Tensor {
  if (executor.kind === 'wasm') return executor.transpose(a);
  return executor.run('Transpose', [a, executor.integers([1, 0])], permutation);
}

/** a [m, k] times b [k, n], each optionally passed transposed. Returns [m, n]. */
export function matmul(executor: Executor, a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  const { transposeA = false, transposeB = false } = options;
  if (executor.kind === 'native') {
    // With b transposed, oneDNN's MatMul first copies b in another order; its batch product does not.
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
