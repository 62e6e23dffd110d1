import type { Executor, Tensor } from '../executors/executor.ts';

const gather = { Tparams: 'float32', Tindices: 'int32', Taxis: 'int32', batch_dims: 0 } as const;
const scatter = { T: 'float32', Tindices: 'int32', Tnumsegments: 'int32' } as const;

/** Rows of a table [n, width]: [rows.length, width]. Embeds tokens, and picks rows that are scored. */
export function gatherRows(executor: Executor, table: Tensor, rows: Int32Array): Tensor {
  if (executor.kind === 'native') {
    const indices = executor.upload(rows, [rows.length]);
    const out = executor.run('GatherV2', [table, indices, executor.integers(0)], gather);
    executor.dispose(indices);
    return out;
  }
  const width = table.shape[1]!;
  const out = executor.allocate([rows.length, width]);
  const [from, to] = [executor.view(table), executor.view(out)];
  rows.forEach((row, i) => {
    to.set(from.subarray(row * width, (row + 1) * width), i * width);
  });
  return out;
}

/** The derivative of gatherRows by the table: dy's rows added into `height` rows of zeros. */
export function gatherRowsVjp(executor: Executor, rows: Int32Array, height: number, dy: Tensor): Tensor {
  if (executor.kind === 'native') {
    const indices = executor.upload(rows, [rows.length]);
    const out = executor.run('UnsortedSegmentSum', [dy, indices, executor.integers(height)], scatter);
    executor.dispose(indices);
    return out;
  }
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
