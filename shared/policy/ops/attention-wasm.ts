import type { Tensor, WasmExecutor } from '../executors/executor.ts';
import type { AttentionShape, QueriesKeysValues } from './attention-shape.ts';

/** One key/value head of one sequence. */
type Group = {
  /** [positions, headSize] */
  readonly key: Tensor;
  readonly value: Tensor;
  /** Query heads stacked, [group * positions, headSize]; only with a single block. */
  readonly query: Tensor | undefined;
  /** [group * positions, positions]; only with a single block. */
  readonly probabilities: Tensor | undefined;
};
export type AttentionSavedOnWasm = { readonly groups: readonly Group[] };

/** Rows of one head in a matrix of all heads: row i is at offset + i * stride. */
type HeadRows = {
  readonly offset: number;
  readonly stride: number;
  readonly rows: number;
  readonly size: number;
};

export function gather(wide: Float32Array, dense: Float32Array, at: number, head: HeadRows): void {
  const { stride, rows, size } = head;
  for (let row = 0, from = head.offset, to = at; row < rows; row++, from += stride, to += size) {
    for (let i = 0; i < size; i++) dense[to + i] = wide[from + i]!;
  }
}

export function scatter(dense: Float32Array, at: number, wide: Float32Array, head: HeadRows): void {
  const { stride, rows, size } = head;
  for (let row = 0, to = head.offset, from = at; row < rows; row++, to += stride, from += size) {
    for (let i = 0; i < size; i++) wide[to + i] = dense[from + i]!;
  }
}

/** Positions of the heads of one group in queryKey, value and output. */
export function headsOf({ positions, heads, keyValueHeads, headSize: size }: AttentionShape, index: number) {
  const group = heads / keyValueHeads;
  const sequence = Math.floor(index / keyValueHeads) * positions;
  const head = index % keyValueHeads;
  const of =
    (width: number, number: number) =>
    (start: number, rows: number): HeadRows => ({
      offset: ((sequence + start) * width + number) * size,
      stride: width * size,
      rows,
      size,
    });
  return {
    query: Array.from({ length: group }, (_, g) => of(heads + keyValueHeads, head * group + g)),
    key: of(heads + keyValueHeads, heads + head),
    value: of(keyValueHeads, head),
    output: Array.from({ length: group }, (_, g) => of(heads, head * group + g)),
  };
}

/**
 * Softmax of each row over the positions that it may see, in place; the rest becomes 0. Row r is at position
 * first + r modulo `rows`.
 */
export function causalSoftmax(scores: Float32Array, width: number, rows: number, first: number): void {
  for (let start = 0, row = 0; start < scores.length; start += width) {
    const end = start + first + row + 1;
    let max = -Infinity;
    for (let i = start; i < end; i++) if (scores[i]! > max) max = scores[i]!;
    let sum = 0;
    for (let i = start; i < end; i++) {
      const e = Math.exp(scores[i]! - max);
      scores[i] = e;
      sum += e;
    }
    const inverse = 1 / sum;
    for (let i = start; i < end; i++) scores[i]! *= inverse;
    scores.fill(0, end, start + width);
    row = row + 1 === rows ? 0 : row + 1;
  }
}

/**
 * Head by head, because only the 2-D product is fast, and in blocks of `block` queries, which see only earlier
 * positions. Only a single block saves activations for the derivative.
 */
export function attentionOnWasm(
  executor: WasmExecutor,
  { queryKey, value }: QueriesKeysValues,
  shape: AttentionShape,
  block: number,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const output = executor.allocate([batch * positions, heads * headSize]);
  const prefix = (matrix: Tensor, rows: number): Tensor => {
    if (rows === positions) return matrix;
    const first = executor.allocate([rows, headSize]);
    executor.view(first).set(executor.view(matrix).subarray(0, rows * headSize));
    return first;
  };
  const attend = (index: number): Group => {
    const where = headsOf(shape, index);
    const keys = executor.allocate([positions, headSize]);
    const values = executor.allocate([positions, headSize]);
    gather(executor.view(queryKey), executor.view(keys), 0, where.key(0, positions));
    gather(executor.view(value), executor.view(values), 0, where.value(0, positions));
    const attendBlock = (start: number, rows: number) => {
      const query = executor.allocate([group * rows, headSize]);
      where.query.forEach((head, g) => {
        gather(executor.view(queryKey), executor.view(query), g * rows * headSize, head(start, rows));
      });
      const seen = start + rows;
      const scores = executor.matmul(query, executor.transpose(prefix(keys, seen))); // [group * rows, seen]
      causalSoftmax(executor.view(scores), seen, rows, start);
      const mixed = executor.matmul(scores, prefix(values, seen)); // [group * rows, headSize]
      where.output.forEach((head, g) => {
        scatter(executor.view(mixed), g * rows * headSize, executor.view(output), head(start, rows));
      });
      return { query, probabilities: scores };
    };
    if (positions <= block) return { key: keys, value: values, ...attendBlock(0, positions) };
    for (let start = 0; start < positions; start += block) {
      executor.scope(() => void attendBlock(start, Math.min(block, positions - start)));
    }
    return { key: keys, value: values, query: undefined, probabilities: undefined };
  };
  const groups = Array.from({ length: batch * keyValueHeads }, (_, index) =>
    executor.scope(() => attend(index)),
  );
  return { output, saved: { groups } };
}

export function attentionVjpOnWasm(
  executor: WasmExecutor,
  { groups }: AttentionSavedOnWasm,
  dy: Tensor,
  shape: AttentionShape,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const dqueryKey = executor.allocate([batch * positions, (heads + keyValueHeads) * headSize]);
  const dvalue = executor.allocate([batch * positions, keyValueHeads * headSize]);
  groups.forEach(({ key, value, query, probabilities }, index) => {
    if (query === undefined || probabilities === undefined)
      throw new Error('attention in several blocks saves nothing for its derivative');
    const where = headsOf(shape, index);
    executor.scope(() => {
      const dout = executor.allocate([group * positions, headSize]);
      where.output.forEach((head, g) => {
        gather(executor.view(dy), executor.view(dout), g * positions * headSize, head(0, positions));
      });
      const dv = executor.matmul(executor.transpose(probabilities), dout); // [positions, headSize]
      // dP at first: [group * positions, positions]
      const ds = executor.matmul(dout, executor.transpose(value));
      const [p, d] = [executor.view(probabilities), executor.view(ds)];
      for (let start = 0, position = 0; start < p.length; start += positions) {
        const end = start + position + 1;
        let sum = 0;
        for (let i = start; i < end; i++) sum += p[i]! * d[i]!;
        for (let i = start; i < end; i++) d[i] = p[i]! * (d[i]! - sum);
        d.fill(0, end, start + positions);
        position = position + 1 === positions ? 0 : position + 1;
      }
      const dq = executor.matmul(ds, key); // [group * positions, headSize]
      const dk = executor.matmul(executor.transpose(ds), query); // [positions, headSize]
      const wide = executor.view(dqueryKey);
      where.query.forEach((head, g) => {
        scatter(executor.view(dq), g * positions * headSize, wide, head(0, positions));
      });
      scatter(executor.view(dk), 0, wide, where.key(0, positions));
      scatter(executor.view(dv), 0, executor.view(dvalue), where.value(0, positions));
    });
  });
  return { dqueryKey, dvalue };
}
