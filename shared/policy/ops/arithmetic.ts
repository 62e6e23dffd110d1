import type { Executor, Tensor } from '../executors/executor.ts';

const float = { T: 'float32' } as const;
const reshapeAttributes = { T: 'float32', Tshape: 'int32' } as const;

/** a + b of one shape. Its derivative is the identity for both. */
export function add(executor: Executor, a: Tensor, b: Tensor): Tensor {
  if (executor.kind === 'native') return executor.run('AddV2', [a, b], float);
  const out = executor.allocate(a.shape);
  const [x, y, z] = [executor.view(a), executor.view(b), executor.view(out)];
  for (let i = 0; i < z.length; i++) z[i] = x[i]! + y[i]!;
  return out;
}

/** The sum of the defined parts; at least one must be defined. */
export function addAll(executor: Executor, parts: readonly (Tensor | undefined)[]): Tensor {
  const present = parts.filter((part) => part !== undefined);
  return present.slice(1).reduce((sum, part) => add(executor, sum, part), present[0]!);
}

/** Adds a vector [n] to every row of a [m, n]. The vector's derivative is columnSums(dy). */
export function addToRows(executor: Executor, a: Tensor, vector: Tensor): Tensor {
  if (executor.kind === 'native') return executor.run('BiasAdd', [a, vector], float);
  const out = executor.allocate(a.shape);
  const [x, v, y] = [executor.view(a), executor.view(vector), executor.view(out)];
  for (let i = 0, column = 0; i < y.length; i++, column = column + 1 === v.length ? 0 : column + 1) {
    y[i] = x[i]! + v[column]!;
  }
  return out;
}

const sumAttributes = { T: 'float32', Tidx: 'int32', keep_dims: false } as const;

/** Sums of the columns of a [m, n]: [n]. */
export function columnSums(executor: Executor, a: Tensor): Tensor {
  if (executor.kind === 'native') return executor.run('Sum', [a, executor.integers([0])], sumAttributes);
  const columns = a.shape.at(-1)!;
  const out = executor.allocate([columns]);
  const [x, y] = [executor.view(a), executor.view(out)];
  y.fill(0);
  for (let i = 0, column = 0; i < x.length; i++, column = column + 1 === columns ? 0 : column + 1) {
    y[column]! += x[i]!;
  }
  return out;
}

/** Native only: the same values under another shape, without a copy. */
export function reshape(
  executor: Extract<Executor, { kind: 'native' }>,
  a: Tensor,
  shape: readonly number[],
): Tensor {
  return executor.run('Reshape', [a, executor.integers(shape)], reshapeAttributes);
}
