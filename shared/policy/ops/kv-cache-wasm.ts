import type { Tensor, WasmExecutor } from '../executors/executor.ts';
import type { QueriesKeysValues } from './attention-shape.ts';
import { causalSoftmax, gather, headsOf, scatter } from './attention-wasm.ts';
import {
  type CachedRows,
  type CacheShape,
  floatsPerPosition,
  type KeyValueCache,
  type LayerRows,
  type Piece,
  type StepRows,
} from './kv-cache.ts';

/** One key/value head of one sequence: rows of headSize, one per position. */
type HeadCache = { keys: Float32Array; values: Float32Array };

const sides = ['keys', 'values'] as const;

/**
 * The cache is in JavaScript arrays and attention is plain loops: a step is too small to be worth a kernel
 * call.
 */
export class WasmCache implements KeyValueCache {
  readonly #executor: WasmExecutor;
  readonly #shape: CacheShape;
  /** By layer and slot: one per key/value head. */
  readonly #caches: HeadCache[][][];
  readonly #buffers: RowBuffers;
  #capacity = 0;

  constructor(executor: WasmExecutor, shape: CacheShape) {
    const { layers, headSize } = shape;
    this.#executor = executor;
    this.#shape = shape;
    this.#caches = Array.from({ length: layers }, () => []);
    this.#buffers = {
      query: new Float64Array(headSize),
      output: new Float64Array(headSize),
      scores: new Float64Array(0),
    };
  }

  resize(slots: number, positions: number): void {
    for (const layer of this.#caches) if (layer.length > slots) layer.length = slots;
    this.#capacity = positions;
  }

  rowsOf(slots: readonly number[]): readonly number[] {
    return slots;
  }

  begin(step: StepRows): CachedRows {
    return { inputs: undefined, attend: (_executor, _inputs, rows) => this.#attend(step, rows) };
  }

  extend(piece: Piece): CachedRows {
    return {
      inputs: undefined,
      attend: (_executor, _inputs, { layer, queryKey, value }) => {
        const cache = this.#headsOf(layer, piece.slot, piece.start + piece.count);
        return attendPiece(this.#executor, this.#shape, cache, { ...piece, queryKey, value });
      },
    };
  }

  save({ slot, start, count }: Piece): Float32Array {
    const { layers, headSize } = this.#shape;
    const saved = new Float32Array(floatsPerPosition(this.#shape) * count);
    let at = 0;
    for (let layer = 0; layer < layers; layer++) {
      for (const side of sides) {
        for (const head of this.#headsOf(layer, slot, start + count)) {
          saved.set(head[side].subarray(start * headSize, (start + count) * headSize), at);
          at += count * headSize;
        }
      }
    }
    return saved;
  }

  load(slot: number, start: number, blocks: readonly Float32Array[], blockPositions: number): void {
    const { layers, headSize } = this.#shape;
    const part = blockPositions * headSize; // of one head of one block
    for (let layer = 0, from = 0; layer < layers; layer++) {
      const cache = this.#headsOf(layer, slot, start + blocks.length * blockPositions);
      for (const side of sides) {
        for (const head of cache) {
          blocks.forEach((block, index) => {
            head[side].set(block.subarray(from, from + part), start * headSize + index * part);
          });
          from += part;
        }
      }
    }
  }

  clear(): void {
    for (const layer of this.#caches) layer.length = 0;
    this.#capacity = 0;
  }

  /** The heads of one layer and slot, with room for `positions`. */
  #headsOf(layer: number, slot: number, positions: number): readonly HeadCache[] {
    const { keyValueHeads, headSize } = this.#shape;
    const slots = this.#caches[layer]!;
    slots[slot] ??= Array.from({ length: keyValueHeads }, () => ({
      keys: new Float32Array(0),
      values: new Float32Array(0),
    }));
    const cache = slots[slot];
    if (cache[0]!.keys.length < positions * headSize) {
      const rows = Math.min(this.#capacity, Math.max(64, positions * 2));
      for (const head of cache) {
        for (const side of sides) {
          const grown = new Float32Array(rows * headSize);
          grown.set(head[side]);
          head[side] = grown;
        }
      }
    }
    return cache;
  }

  #attend({ slots, positions }: StepRows, { layer, queryKey, value }: LayerRows): Tensor {
    const { heads, keyValueHeads, headSize } = this.#shape;
    const executor = this.#executor;
    const buffers = this.#buffers;
    const { query, output } = buffers;
    const group = heads / keyValueHeads;
    const width = keyValueHeads * headSize;
    const out = executor.allocate([slots.length, heads * headSize]);
    const [wide, fresh, mixed] = [executor.view(queryKey), executor.view(value), executor.view(out)];
    if (buffers.scores.length < this.#capacity) buffers.scores = new Float64Array(this.#capacity);
    for (let row = 0, from = 0; row < slots.length; row++) {
      const position = positions[row]!;
      const cache = this.#headsOf(layer, slots[row]!, position + 1);
      for (let head = 0; head < keyValueHeads; head++) {
        const [key, at] = [from + (heads + head) * headSize, row * width + head * headSize];
        cache[head]!.keys.set(wide.subarray(key, key + headSize), position * headSize);
        cache[head]!.values.set(fresh.subarray(at, at + headSize), position * headSize);
      }
      for (let head = 0; head < heads; head++, from += headSize) {
        for (let i = 0; i < headSize; i++) query[i] = wide[from + i]!;
        attendRow(buffers, cache[Math.floor(head / group)]!, position + 1);
        mixed.set(output, (row * heads + head) * headSize);
      }
      from += width;
    }
    return out;
  }
}

/** Buffers that every row reuses: loops over short-lived views of the wasm heap run several times slower. */
type RowBuffers = {
  readonly query: Float64Array;
  readonly output: Float64Array;
  /** One score per position. */
  scores: Float64Array;
};

/**
 * softmax(q k^T) v of one query head over `count` positions, into `output`. It keeps four sums side by side: a
 * single sum would wait for each addition before the next.
 */
function attendRow({ query, output, scores }: RowBuffers, { keys, values }: HeadCache, count: number): void {
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

/**
 * Stores the keys and values of a piece of one sequence, then attends over the cached positions, head by head
 * as products of matrices.
 *
 * @param cache the heads of one layer and slot, with room for the piece
 * @returns [count, heads * headSize]
 */
function attendPiece(
  executor: WasmExecutor,
  { heads, keyValueHeads, headSize }: CacheShape,
  cache: readonly HeadCache[],
  { start, count, queryKey, value }: Piece & QueriesKeysValues,
): Tensor {
  const group = heads / keyValueHeads;
  const seen = start + count;
  const shape = { batch: 1, positions: count, heads, keyValueHeads, headSize };
  const output = executor.allocate([count, heads * headSize]);
  cache.forEach(({ keys, values }, index) => {
    const where = headsOf(shape, index);
    gather(executor.view(queryKey), keys, start * headSize, where.key(0, count));
    gather(executor.view(value), values, start * headSize, where.value(0, count));
    executor.scope(() => {
      const query = executor.allocate([group * count, headSize]);
      where.query.forEach((head, g) => {
        gather(executor.view(queryKey), executor.view(query), g * count * headSize, head(0, count));
      });
      const known = executor.upload(keys.subarray(0, seen * headSize), [seen, headSize]);
      const scores = executor.matmul(query, executor.transpose(known)); // [group * count, seen]
      causalSoftmax(executor.view(scores), seen, count, start);
      const mixed = executor.matmul(
        scores,
        executor.upload(values.subarray(0, seen * headSize), [seen, headSize]),
      ); // [group * count, headSize]
      where.output.forEach((head, g) => {
        scatter(executor.view(mixed), g * count * headSize, executor.view(output), head(0, count));
      });
    });
  });
  return output;
}
