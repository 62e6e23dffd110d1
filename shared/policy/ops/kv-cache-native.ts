import type { Tensor } from '../executors/executor.ts';
import type { NativeExecutor } from '../executors/native.ts';
import { reshape } from './arithmetic.ts';
import type { CacheShape, KeyValueCache, StepRows } from './kv-cache.ts';

const float = { T: 'float32' } as const;
const fill = { T: 'float32', index_type: 'int32' } as const;
const pad = { T: 'float32', Tpaddings: 'int32' } as const;
const slice = { T: 'float32', Index: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const product = { T: 'float32', adj_x: false, adj_y: false } as const;
const productTransposed = { T: 'float32', adj_x: false, adj_y: true } as const;

const MASKED = -1e9;

/** Keys, then values, of one layer. */
type LayerCache = {
  /** [slots * keyValueHeads * capacity, headSize]: written in place. */
  readonly rows: readonly [Tensor, Tensor];
  /** The same memory as [n, keyValueHeads, capacity, headSize] for the first n slots. */
  readonly views: Map<number, readonly [Tensor, Tensor]>;
};

/**
 * The cache lies in tensors that `InplaceUpdate` writes into, so that a step copies nothing. That op changes
 * its input: the tensors never leave this file. All rows of a step attend over the whole capacity, masked by
 * their positions.
 */
export function createNativeCache(executor: NativeExecutor, shape: CacheShape): KeyValueCache {
  const { heads, keyValueHeads, headSize } = shape;
  const group = heads / keyValueHeads;
  let layers: LayerCache[] = [];
  let slotCount = 0;
  let capacity = 0;

  const write = (cache: Tensor, rows: Tensor, values: Tensor): void => {
    executor.dispose(executor.run('InplaceUpdate', [cache, rows, values], float)); // an alias of `cache`
  };
  const rowIndices = (
    slots: readonly number[],
    positions: (index: number) => readonly number[],
  ): Int32Array =>
    Int32Array.from(
      slots.flatMap((slot, index) =>
        Array.from({ length: keyValueHeads }, (_, head) =>
          positions(index).map((position) => (slot * keyValueHeads + head) * capacity + position),
        ).flat(),
      ),
    );
  const viewOf = (layer: LayerCache, count: number): readonly [Tensor, Tensor] => {
    let view = layer.views.get(count);
    if (view === undefined) {
      // A slice of the first rows shares the memory when a row's bytes are a multiple of 64, else it is a
      // copy: the
      // rows here are whole slots, and the capacity is a multiple of 16 floats.
      const width = keyValueHeads * capacity * headSize;
      const make = (rows: Tensor): Tensor => {
        const wide = reshape(executor, rows, [slotCount, width]);
        const first = executor.run(
          'Slice',
          [wide, executor.integers([0, 0]), executor.integers([count, width])],
          slice,
        );
        return reshape(executor, first, [count, keyValueHeads, capacity, headSize]);
      };
      view = executor.detached(() =>
        executor.scope(() => [make(layer.rows[0]), make(layer.rows[1])] as const),
      );
      layer.views.set(count, view);
    }
    return view;
  };
  const resized = (old: Tensor | undefined, slots: number, positions: number): Tensor =>
    executor.scope(() => {
      const flat = [slots * keyValueHeads * positions, headSize];
      if (old === undefined) return executor.run('Fill', [executor.integers(flat), executor.scalar(0)], fill);
      const grouped = reshape(executor, old, [slotCount * keyValueHeads, capacity, headSize]);
      const growth = Int32Array.of(0, (slots - slotCount) * keyValueHeads, 0, positions - capacity, 0, 0);
      return reshape(executor, executor.run('Pad', [grouped, executor.upload(growth, [3, 2])], pad), flat);
    });

  return {
    reserve(slots, positions) {
      if (slots <= slotCount && positions <= capacity) return;
      const [newSlots, newCapacity] = [
        Math.max(slots, slotCount),
        Math.max(Math.ceil(positions / 16) * 16, capacity),
      ];
      layers = executor.detached(() =>
        Array.from({ length: shape.layers }, (_, index): LayerCache => {
          const old = layers[index];
          const rows = [
            resized(old?.rows[0], newSlots, newCapacity),
            resized(old?.rows[1], newSlots, newCapacity),
          ] as const;
          executor.dispose(old);
          return { rows, views: new Map() };
        }),
      );
      slotCount = newSlots;
      capacity = newCapacity;
    },
    fill(slot, layer, saved, positions) {
      if (!('key' in saved)) throw new Error('attention of another executor');
      executor.scope(() => {
        const indices = rowIndices([slot], () =>
          Array.from({ length: positions }, (_, position) => position),
        );
        const rows = executor.upload(indices, [indices.length]);
        const flat = [keyValueHeads * positions, headSize];
        write(layers[layer]!.rows[0], rows, reshape(executor, saved.key, flat));
        write(layers[layer]!.rows[1], rows, reshape(executor, saved.value, flat));
      });
    },
    rowsOf: (slots) => Array.from({ length: Math.max(...slots) + 1 }, (_, slot) => slot),
    begin({ slots, positions }: StepRows) {
      const count = slots.length;
      const indices = executor.upload(
        rowIndices(slots, (index) => [positions[index]!]),
        [count * keyValueHeads],
      );
      const visible = new Float32Array(count * capacity).fill(MASKED);
      positions.forEach(
        (position, row) => void visible.fill(0, row * capacity, row * capacity + position + 1),
      );
      const mask = executor.upload(visible, [count, 1, 1, capacity]);
      const sizes = executor.integers([heads, keyValueHeads]);
      return (layer, queryKey, value) => {
        // [1, rows, heads, headSize]
        const [q, k] = executor.runMany('SplitV', [queryKey, sizes, executor.integers(2)], split, 2);
        const cache = layers[layer]!;
        write(cache.rows[0], indices, reshape(executor, k!, [count * keyValueHeads, headSize]));
        write(cache.rows[1], indices, reshape(executor, value, [count * keyValueHeads, headSize]));
        const [keys, values] = viewOf(cache, count); // [rows, keyValueHeads, capacity, headSize]
        const query = reshape(executor, q!, [count, keyValueHeads, group, headSize]);
        // [rows, keyValueHeads, group, capacity]
        const scores = executor.run('BatchMatMulV2', [query, keys], productTransposed);
        const probabilities = executor.run('Softmax', [executor.run('AddV2', [scores, mask], float)], float);
        // [rows, keyValueHeads, group, headSize]
        const mixed = executor.run('BatchMatMulV2', [probabilities, values], product);
        return reshape(executor, mixed, [count, heads * headSize]);
      };
    },
    clear() {
      executor.dispose(layers);
      layers = [];
      slotCount = 0;
      capacity = 0;
    },
  };
}
