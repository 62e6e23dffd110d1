import type { Executor, NativeExecutor, Tensor } from '../executors/executor.ts';
import { transpose } from './matmul.ts';

const gather = { Tparams: 'float32', Tindices: 'int32', Taxis: 'int32', batch_dims: 0 } as const;
const scatter = { T: 'float32', Tindices: 'int32', Tnumsegments: 'int32' } as const;

/** Integers [n] as input of an op. On native they may already be a tensor, as in a graph. */
export type Indices = Int32Array | Tensor;

const isUploaded = (indices: Indices): indices is Tensor => 'handle' in indices;

/** The integer values; only on wasm. */
export const valuesOf = (indices: Indices): Int32Array => {
  if (isUploaded(indices)) throw new Error('on wasm, indices must be an Int32Array');
  return indices;
};

/** Runs `body` with the indices as a tensor. */
export function withIndices<Result>(
  executor: NativeExecutor,
  indices: Indices,
  body: (tensor: Tensor) => Result,
): Result {
  if (isUploaded(indices)) return body(indices);
  const tensor = executor.upload(indices, [indices.length]);
  const result = body(tensor);
  executor.dispose(tensor);
  return result;
}

/** Rows of a table [n, width]: [rows.length, width]. Embeds tokens, and selects rows to score. */
export function gatherRows(executor: Executor, table: Tensor, indices: Indices): Tensor {
  if (executor.kind === 'native') {
    return withIndices(executor, indices, (tensor) =>
      executor.run('GatherV2', [table, tensor, executor.integers(0)], gather),
    );
  }
  const rows = valuesOf(indices);
  const width = table.shape[1]!;
  const out = executor.allocate([rows.length, width]);
  const [from, to] = [executor.view(table), executor.view(out)];
  rows.forEach((row, i) => {
    to.set(from.subarray(row * width, (row + 1) * width), i * width);
  });
  return out;
}

/** Columns of a table [width, n], as rows: [columns.length, width]. */
export function gatherColumns(executor: Executor, table: Tensor, indices: Indices): Tensor {
  if (executor.kind === 'native') {
    return withIndices(executor, indices, (tensor) =>
      transpose(executor, executor.run('GatherV2', [table, tensor, executor.integers(1)], gather)),
    );
  }
  const columns = valuesOf(indices);
  const [width, count] = table.shape as readonly [number, number];
  const out = executor.allocate([columns.length, width]);
  const [from, to] = [executor.view(table), executor.view(out)];
  for (let i = 0, at = 0; i < columns.length; i++) {
    for (let j = 0, place = columns[i]!; j < width; j++, place += count) to[at++] = from[place]!;
  }
  return out;
}

/** The derivative of gatherRows by the table: dy's rows added into `height` rows of zeros. */
export function gatherRowsVjp(executor: Executor, indices: Indices, height: number, dy: Tensor): Tensor {
  if (executor.kind === 'native') {
    return withIndices(executor, indices, (tensor) =>
      executor.run('UnsortedSegmentSum', [dy, tensor, executor.integers(height)], scatter),
    );
  }
  const rows = valuesOf(indices);
  const width = dy.shape[1]!;
  const out = executor.allocate([height, width]);
  const [from, to] = [executor.view(dy), executor.view(out)];
  to.fill(0);
  for (let i = 0, at = 0; i < rows.length; i++) {
    const start = rows[i]! * width;
    for (let j = 0; j < width; j++, at++) to[start + j]! += from[at]!;
  }
  return out;
}
