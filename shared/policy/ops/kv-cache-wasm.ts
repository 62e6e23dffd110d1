import type { Tensor } from '../executors/executor.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import { type CacheShape, floatsPerPosition, type KeyValueCache, type StepRows } from './kv-cache.ts';
import { attendPiece, type HeadCache } from './kv-cache-wasm-piece.ts';

const sides = ['keys', 'values'] as const;

/**
 * The cache lies in JavaScript arrays and attention is plain loops: a step is too small to be worth a kernel
 * call.
 */
export function createWasmCache(executor: WasmExecutor, shape: CacheShape): KeyValueCache {
  const { heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const width = keyValueHeads * headSize;
  const caches: HeadCache[][][] = Array.from({ length: shape.layers }, () => []);
  let capacity = 0;
  // Reused by every row: loops over short-lived views of the wasm heap run several times slower.
  const query = new Float64Array(headSize);
  const output = new Float64Array(headSize);
  let scores = new Float64Array(0);

  const headsOf = (layer: number, slot: number, positions: number): readonly HeadCache[] => {
    caches[layer]![slot] ??= Array.from({ length: keyValueHeads }, () => ({
      keys: new Float32Array(0),
      values: new Float32Array(0),
    }));
    const cache = caches[layer]![slot];
    if (cache[0]!.keys.length < positions * headSize) {
      const rows = Math.min(capacity, Math.max(64, positions * 2));
      for (const head of cache) {
        for (const side of sides) {
          const grown = new Float32Array(rows * headSize);
          grown.set(head[side]);
          head[side] = grown;
        }
      }
    }
    return cache;
  };

  const attend = ({ slots, positions }: StepRows, layer: number, queryKey: Tensor, value: Tensor): Tensor => {
    const out = executor.allocate([slots.length, heads * headSize]);
    const [wide, fresh, mixed] = [executor.view(queryKey), executor.view(value), executor.view(out)];
    if (scores.length < capacity) scores = new Float64Array(capacity);
    for (let row = 0, from = 0; row < slots.length; row++) {
      const position = positions[row]!;
      const cache = headsOf(layer, slots[row]!, position + 1);
      for (let head = 0; head < keyValueHeads; head++) {
        const [key, at] = [from + (heads + head) * headSize, row * width + head * headSize];
        cache[head]!.keys.set(wide.subarray(key, key + headSize), position * headSize);
        cache[head]!.values.set(fresh.subarray(at, at + headSize), position * headSize);
      }
      for (let head = 0; head < heads; head++, from += headSize) {
        for (let i = 0; i < headSize; i++) query[i] = wide[from + i]!;
        const { keys, values } = cache[Math.floor(head / group)]!;
        attendRow(query, keys, values, position + 1, scores, output);
        mixed.set(output, (row * heads + head) * headSize);
      }
      from += width;
    }
    return out;
  };

  return {
    resize(slots, positions) {
      for (const layer of caches) if (layer.length > slots) layer.length = slots;
      capacity = positions;
    },
    rowsOf: (slots) => slots,
    begin: (rows) => ({
      inputs: undefined,
      attend: (_executor, _inputs, layer, queryKey, value) => attend(rows, layer, queryKey, value),
    }),
    extend: (piece) => ({
      inputs: undefined,
      attend: (_executor, _inputs, layer, queryKey, value) => {
        const cache = headsOf(layer, piece.slot, piece.start + piece.count);
        return attendPiece(executor, shape, cache, piece, queryKey, value);
      },
    }),
    save({ slot, start, count }) {
      const saved = new Float32Array(floatsPerPosition(shape) * count);
      let at = 0;
      for (let layer = 0; layer < shape.layers; layer++) {
        for (const side of sides) {
          for (const head of headsOf(layer, slot, start + count)) {
            saved.set(head[side].subarray(start * headSize, (start + count) * headSize), at);
            at += count * headSize;
          }
        }
      }
      return saved;
    },
    load(slot, start, blocks, blockPositions) {
      const part = blockPositions * headSize; // of one head of one block
      for (let layer = 0, from = 0; layer < shape.layers; layer++) {
        const cache = headsOf(layer, slot, start + blocks.length * blockPositions);
        for (const side of sides) {
          for (const head of cache) {
            blocks.forEach((block, index) => {
              head[side].set(block.subarray(from, from + part), start * headSize + index * part);
            });
            from += part;
          }
        }
      }
    },
    clear() {
      for (const layer of caches) layer.length = 0;
      capacity = 0;
    },
  };
}

/**
 * softmax(q k^T) v of one query head over `count` positions, into `output`; `scores` is scratch. Four sums
 * side by side: one alone would wait for each addition before the next.
 */
function attendRow(
  query: Float64Array,
  keys: Float32Array,
  values: Float32Array,
  count: number,
  scores: Float64Array,
  output: Float64Array,
): void {
  const size = query.length;
  const even = size - (size % 4);
  let max = -Infinity;
  for (let position = 0, at = 0; position < count; position++) {
    let [a, b, c, d] = [0, 0, 0, 0];
    let i = 0;
    for (; i < even; i += 4, at += 4) {
      a += query[i]! * keys[at]!;
      b += query[i + 1]! * keys[at + 1]!;
      c += query[i + 2]! * keys[at + 2]!;
      d += query[i + 3]! * keys[at + 3]!;
    }
    for (; i < size; i++, at++) a += query[i]! * keys[at]!;
    const score = a + b + (c + d);
    scores[position] = score;
    if (score > max) max = score;
  }
  let sum = 0;
  for (let position = 0; position < count; position++) {
    const share = Math.exp(scores[position]! - max);
    scores[position] = share;
    sum += share;
  }
  output.fill(0);
  let position = 0;
  let at = 0;
  for (; position + 4 <= count; position += 4, at += 4 * size) {
    const [a, b, c, d] = [
      scores[position]!,
      scores[position + 1]!,
      scores[position + 2]!,
      scores[position + 3]!,
    ];
    for (let i = 0, v = at; i < size; i++, v++) {
      output[i]! +=
        a * values[v]! + b * values[v + size]! + (c * values[v + 2 * size]! + d * values[v + 3 * size]!);
    }
  }
  for (; position < count; position++) {
    for (let i = 0; i < size; i++, at++) output[i]! += scores[position]! * values[at]!;
  }
  for (let i = 0; i < size; i++) output[i]! /= sum;
}
