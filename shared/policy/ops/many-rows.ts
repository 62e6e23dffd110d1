import type { Executor } from '../executors/executor.ts';

const product = { T: 'float32', adj_x: false, adj_y: true } as const;

/** From so many rows on, a product with a weight is faster as a batch of one. */
export const manyRows = 8;

/**
 * The same executor for many rows at a time. On native, where weights lie as [out, in], oneDNN's `MatMul`
 * copies a weight into the order that it multiplies in at every call; its `BatchMatMulV2` does not. With 16
 * rows that is twice as fast, with hundreds a twentieth; with few rows it is slower.
 */
export function forManyRows<On extends Executor>(executor: On): On {
  if (executor.kind === 'wasm') return executor;
  const { run } = executor;
  return {
    ...executor,
    run: (op, inputs, attributes) =>
      op === 'MatMul' && attributes.transpose_b === true && attributes.transpose_a === false
        ? run('BatchMatMulV2', inputs, product)
        : run(op, inputs, attributes),
  };
}
