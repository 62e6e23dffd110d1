import type { Tensor } from '../executors/executor.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import type { AttentionShape } from './attention.ts';

/** One key/value head of one sequence, with its query heads stacked. */
type Group = {
  /** [group * positions, headSize] */
  readonly query: Tensor;
  /** [positions, headSize] */
  readonly key: Tensor;
  readonly value: Tensor;
  /** [group * positions, positions] */
  readonly probabilities: Tensor;
};
export type AttentionSavedOnWasm = { readonly groups: readonly Group[] };

/** Copies a strided run of head rows into a dense matrix, or back: row i of `dense` is at offset + i * stride of `wide`. */
function gatherHead(
  wide: Float32Array,
  dense: Float32Array,
  at: number,
  offset: number,
  stride: number,
  rows: number,
  size: number,
) {
  for (let row = 0; row < rows; row++, at += size, offset += stride) {
    for (let i = 0; i < size; i++) dense[at + i] = wide[offset + i]!;
  }
}

function scatterHead(
  dense: Float32Array,
  wide: Float32Array,
  at: number,
  offset: number,
  stride: number,
  rows: number,
  size: number,
) {
  for (let row = 0; row < rows; row++, at += size, offset += stride) {
    for (let i = 0; i < size; i++) wide[offset + i] = dense[at + i]!;
  }
}

/** Softmax of each row over the positions that it may see, in place; the rest becomes 0. */
function causalSoftmax(scores: Float32Array, positions: number): void {
  for (let start = 0, position = 0; start < scores.length; start += positions) {
    const end = start + position + 1;
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
    scores.fill(0, end, start + positions);
    position = position + 1 === positions ? 0 : position + 1;
  }
}

/** Head by head, since only the 2-D product is fast. */
export function attentionOnWasm(
  executor: WasmExecutor,
  queryKey: Tensor,
  value: Tensor,
  shape: AttentionShape,
) {
  const { batch, positions, heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const [keyWidth, valueWidth, width] = [
    (heads + keyValueHeads) * headSize,
    keyValueHeads * headSize,
    heads * headSize,
  ];
  const output = executor.allocate([batch * positions, width]);
  const groups: Group[] = [];
  for (let index = 0; index < batch * keyValueHeads; index++) {
    const sequence = Math.floor(index / keyValueHeads) * positions;
    const head = index % keyValueHeads;
    groups.push(
      executor.scope(() => {
        const query = executor.allocate([group * positions, headSize]);
        const key = executor.allocate([positions, headSize]);
        const values = executor.allocate([positions, headSize]);
        const wide = executor.view(queryKey);
        for (let g = 0; g < group; g++) {
          const offset = sequence * keyWidth + (head * group + g) * headSize;
          gatherHead(
            wide,
            executor.view(query),
            g * positions * headSize,
            offset,
            keyWidth,
            positions,
            headSize,
          );
        }
        gatherHead(
          wide,
          executor.view(key),
          0,
          sequence * keyWidth + (heads + head) * headSize,
          keyWidth,
          positions,
          headSize,
        );
        gatherHead(
          executor.view(value),
          executor.view(values),
          0,
          sequence * valueWidth + head * headSize,
          valueWidth,
          positions,
          headSize,
        );
        const probabilities = executor.matmul(query, executor.transpose(key)); // [group * positions, positions]
        causalSoftmax(executor.view(probabilities), positions);
        const mixed = executor.matmul(probabilities, values); // [group * positions, headSize]
        for (let g = 0; g < group; g++) {
          const offset = sequence * width + (head * group + g) * headSize;
          scatterHead(
            executor.view(mixed),
            executor.view(output),
            g * positions * headSize,
            offset,
            width,
            positions,
            headSize,
          );
        }
        return { query, key, value: values, probabilities };
      }),
    );
  }
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
  const [keyWidth, valueWidth, width] = [
    (heads + keyValueHeads) * headSize,
    keyValueHeads * headSize,
    heads * headSize,
  ];
  const dqueryKey = executor.allocate([batch * positions, keyWidth]);
  const dvalue = executor.allocate([batch * positions, valueWidth]);
  groups.forEach(({ query, key, value, probabilities }, index) => {
    const sequence = Math.floor(index / keyValueHeads) * positions;
    const head = index % keyValueHeads;
    executor.scope(() => {
      const dout = executor.allocate([group * positions, headSize]);
      for (let g = 0; g < group; g++) {
        const offset = sequence * width + (head * group + g) * headSize;
        gatherHead(
          executor.view(dy),
          executor.view(dout),
          g * positions * headSize,
          offset,
          width,
          positions,
          headSize,
        );
      }
      const dv = executor.matmul(executor.transpose(probabilities), dout); // [positions, headSize]
      const ds = executor.matmul(dout, executor.transpose(value)); // dP at first: [group * positions, positions]
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
      for (let g = 0; g < group; g++) {
        const offset = sequence * keyWidth + (head * group + g) * headSize;
        scatterHead(executor.view(dq), wide, g * positions * headSize, offset, keyWidth, positions, headSize);
      }
      scatterHead(
        executor.view(dk),
        wide,
        0,
        sequence * keyWidth + (heads + head) * headSize,
        keyWidth,
        positions,
        headSize,
      );
      scatterHead(
        executor.view(dv),
        executor.view(dvalue),
        0,
        sequence * valueWidth + head * headSize,
        valueWidth,
        positions,
        headSize,
      );
    });
  });
  return { dqueryKey, dvalue };
}
