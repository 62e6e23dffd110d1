import type { WasmExecutor } from '../executors/wasm.ts';
import type { CacheShape, KeyValueCache } from './kv-cache.ts';

/** Rows of [keyValueHeads, headSize], one per position. */
type SlotCache = { keys: Float32Array; values: Float32Array };

const newSlot = (): SlotCache => ({ keys: new Float32Array(0), values: new Float32Array(0) });

/** The cache lies in JavaScript arrays and attention is plain loops: a step is too small to be worth a kernel call. */
export function createWasmCache(executor: WasmExecutor, shape: CacheShape): KeyValueCache {
  const { heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  const width = keyValueHeads * headSize;
  const caches: SlotCache[][] = Array.from({ length: shape.layers }, () => []);
  let slotCount = 0;
  let capacity = 0;

  const slotOf = (layer: number, slot: number, positions: number): SlotCache => {
    caches[layer]![slot] ??= newSlot();
    const cache = caches[layer]![slot];
    if (cache.keys.length < positions * width) {
      for (const side of ['keys', 'values'] as const) {
        const grown = new Float32Array(Math.min(capacity, Math.max(64, positions * 2)) * width);
        grown.set(cache[side]);
        cache[side] = grown;
      }
    }
    return cache;
  };

  return {
    reserve(slots, positions) {
      slotCount = Math.max(slots, slotCount);
      capacity = Math.max(positions, capacity);
    },
    fill(slot, layer, saved, positions) {
      if (!('groups' in saved)) throw new Error('attention of another executor');
      const cache = slotOf(layer, slot, positions);
      saved.groups.forEach(({ key, value }, head) => {
        const [keys, values] = [executor.view(key), executor.view(value)];
        for (let position = 0; position < positions; position++) {
          const [from, to] = [position * headSize, position * width + head * headSize];
          cache.keys.set(keys.subarray(from, from + headSize), to);
          cache.values.set(values.subarray(from, from + headSize), to);
        }
      });
    },
    rowsOf: (slots) => slots,
    begin:
      ({ slots, positions }) =>
      (layer, queryKey, value) => {
        const out = executor.allocate([slots.length, heads * headSize]);
        const [wide, fresh, mixed] = [executor.view(queryKey), executor.view(value), executor.view(out)];
        mixed.fill(0);
        slots.forEach((slot, row) => {
          const count = positions[row]! + 1;
          const cache = slotOf(layer, slot, count);
          const start = row * (heads + keyValueHeads) * headSize;
          const keyStart = start + heads * headSize;
          cache.keys.set(wide.subarray(keyStart, keyStart + width), (count - 1) * width);
          cache.values.set(fresh.subarray(row * width, (row + 1) * width), (count - 1) * width);
          for (let head = 0; head < heads; head++) {
            const query = wide.subarray(start + head * headSize, start + (head + 1) * headSize);
            const offset = Math.floor(head / group) * headSize;
            const target = (row * heads + head) * headSize;
            attendRow(query, cache, offset, width, count, mixed.subarray(target, target + headSize));
          }
        });
        return out;
      },
    clear() {
      for (const layer of caches) layer.length = 0;
      slotCount = 0;
      capacity = 0;
    },
  };
}

/** softmax(q k^T) v of one query head over `count` positions, added into `out`. */
function attendRow(
  query: Float32Array,
  { keys, values }: SlotCache,
  offset: number,
  width: number,
  count: number,
  out: Float32Array,
): void {
  const size = query.length;
  const scores = new Float64Array(count);
  let max = -Infinity;
  for (let position = 0, at = offset; position < count; position++, at += width) {
    let score = 0;
    for (let i = 0; i < size; i++) score += query[i]! * keys[at + i]!;
    scores[position] = score;
    if (score > max) max = score;
  }
  let sum = 0;
  for (let position = 0; position < count; position++) {
    const e = Math.exp(scores[position]! - max);
    scores[position] = e;
    sum += e;
  }
  for (let position = 0, at = offset; position < count; position++, at += width) {
    const share = scores[position]! / sum;
    for (let i = 0; i < size; i++) out[i]! += share * values[at + i]!;
  }
}
