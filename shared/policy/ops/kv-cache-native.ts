import type { Tensor } from '../executors/executor.ts';
import type { NativeExecutor } from '../executors/native.ts';
import { reshape } from './arithmetic.ts';
import type { CacheShape, KeyValueCache, Piece, StepRows } from './kv-cache.ts';

const float = { T: 'float32' } as const;
const fill = { T: 'float32', index_type: 'int32' } as const;
const pad = { T: 'float32', Tpaddings: 'int32' } as const;
const slice = { T: 'float32', Index: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const product = { T: 'float32', adj_x: false, adj_y: false } as const;
const productTransposed = { T: 'float32', adj_x: false, adj_y: true } as const;

const transpose = { T: 'float32', Tperm: 'int32' } as const;

const MASKED = -1e9;

/** What the layers share: rows of the cache to write to, and what is added to the scores. */
type StepInputs = { readonly indices: Tensor; readonly mask: Tensor };

/** Swaps the two middle axes of four. */
const swap = (executor: NativeExecutor, x: Tensor): Tensor =>
  executor.run('Transpose', [x, executor.integers([0, 2, 1, 3])], transpose);

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
  /** Positions [start, start + count) of a slot: [keyValueHeads, count, headSize]. A copy. */
  const cut = (rows: Tensor, { slot, start, count }: Piece): Tensor => {
    const all = reshape(executor, rows, [slotCount, keyValueHeads, capacity, headSize]);
    const size = [1, keyValueHeads, count, headSize];
    return executor.run(
      'Slice',
      [all, executor.integers([slot, 0, start, 0]), executor.integers(size)],
      slice,
    );
  };
  const resized = (old: Tensor | undefined, slots: number, positions: number): Tensor =>
    executor.scope(() => {
      const flat = [slots * keyValueHeads * positions, headSize];
      if (old === undefined) return executor.run('Fill', [executor.integers(flat), executor.scalar(0)], fill);
      const [keptSlots, kept] = [Math.min(slots, slotCount), Math.min(positions, capacity)];
      const all = reshape(executor, old, [slotCount, keyValueHeads, capacity, headSize]);
      const size = executor.integers([keptSlots, keyValueHeads, kept, headSize]);
      const inside = executor.run('Slice', [all, executor.integers([0, 0, 0, 0]), size], slice);
      const growth = Int32Array.of(0, slots - keptSlots, 0, 0, 0, positions - kept, 0, 0);
      return reshape(executor, executor.run('Pad', [inside, executor.upload(growth, [4, 2])], pad), flat);
    });
  const range = ({ start, count }: Piece): readonly number[] =>
    Array.from({ length: count }, (_, index) => start + index);

  /** One new row of each slot: where it is stored, and what it sees. */
  const uploadStep = ({ slots, positions }: StepRows): StepInputs => {
    const count = slots.length;
    const visible = new Float32Array(count * capacity).fill(MASKED);
    positions.forEach((position, row) => void visible.fill(0, row * capacity, row * capacity + position + 1));
    return {
      indices: executor.upload(
        rowIndices(slots, (index) => [positions[index]!]),
        [count * keyValueHeads],
      ),
      mask: executor.upload(visible, [count, 1, 1, capacity]),
    };
  };
  const attendStep = ({ indices, mask }: StepInputs, layer: number, queryKey: Tensor, value: Tensor) => {
    const count = mask.shape[0]!;
    const sizes = executor.integers([heads, keyValueHeads]);
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

  /** Rows of one slot: where they are stored, and what each of them sees. */
  const uploadPiece = (piece: Piece): StepInputs & { readonly piece: Piece } => {
    const { slot, start, count } = piece;
    const seen = start + count;
    const visible = new Float32Array(count * seen);
    for (let row = 0; row < count; row++)
      visible.fill(MASKED, row * seen + start + row + 1, (row + 1) * seen);
    const indices = rowIndices([slot], () => range(piece));
    return {
      piece,
      indices: executor.upload(indices, [indices.length]),
      mask: executor.upload(visible, [count, seen]),
    };
  };
  const attendPiece = (
    { indices, mask, piece }: ReturnType<typeof uploadPiece>,
    layer: number,
    queryKey: Tensor,
    value: Tensor,
  ): Tensor => {
    const { slot, start, count } = piece;
    const seen = start + count;
    const sizes = executor.integers([heads, keyValueHeads]);
    // [1, heads, count, headSize]
    const [q, k] = executor.runMany(
      'SplitV',
      [swap(executor, queryKey), sizes, executor.integers(1)],
      split,
      2,
    );
    const fresh = swap(executor, reshape(executor, value, [1, count, keyValueHeads, headSize]));
    const cache = layers[layer]!;
    write(cache.rows[0], indices, reshape(executor, k!, [keyValueHeads * count, headSize]));
    write(cache.rows[1], indices, reshape(executor, fresh, [keyValueHeads * count, headSize]));
    const [keys, values] = cache.rows.map((rows) => cut(rows, { slot, start: 0, count: seen }));
    const query = reshape(executor, q!, [1, keyValueHeads, group * count, headSize]);
    // [1, keyValueHeads, group * count, seen]
    const scores = executor.run('BatchMatMulV2', [query, keys!], productTransposed);
    const perHead = reshape(executor, scores, [1, heads, count, seen]);
    const probabilities = executor.run('Softmax', [executor.run('AddV2', [perHead, mask], float)], float);
    const perGroup = reshape(executor, probabilities, [1, keyValueHeads, group * count, seen]);
    // [1, keyValueHeads, group * count, headSize]
    const mixed = executor.run('BatchMatMulV2', [perGroup, values!], product);
    const joined = swap(executor, reshape(executor, mixed, [1, heads, count, headSize]));
    return reshape(executor, joined, [count, heads * headSize]);
  };

  return {
    resize(slots, positions) {
      const newCapacity = Math.ceil(positions / 16) * 16;
      if (slots === slotCount && newCapacity === capacity) return;
      layers = executor.detached(() =>
        Array.from({ length: shape.layers }, (_, index): LayerCache => {
          const old = layers[index];
          const rows = [
            resized(old?.rows[0], slots, newCapacity),
            resized(old?.rows[1], slots, newCapacity),
          ] as const;
          executor.dispose(old);
          return { rows, views: new Map() };
        }),
      );
      slotCount = slots;
      capacity = newCapacity;
    },
    rowsOf: (slots) => Array.from({ length: Math.max(...slots) + 1 }, (_, slot) => slot),
    begin: (rows) => {
      const inputs = uploadStep(rows);
      return (layer, queryKey, value) => attendStep(inputs, layer, queryKey, value);
    },
    extend: (piece) => {
      const inputs = uploadPiece(piece);
      return (layer, queryKey, value) => attendPiece(inputs, layer, queryKey, value);
    },
    save(piece) {
      const size = keyValueHeads * piece.count * headSize;
      const saved = new Float32Array(2 * shape.layers * size);
      executor.scope(() => {
        layers.forEach(({ rows }, layer) => {
          rows.forEach((side, index) => {
            saved.set(executor.read(cut(side, piece)), (2 * layer + index) * size);
          });
        });
      });
      return saved;
    },
    load(slot, start, blocks, blockPositions) {
      const count = blocks.length * blockPositions;
      const part = blockPositions * headSize; // of one head of one block
      executor.scope(() => {
        const indices = executor.upload(
          rowIndices([slot], () => range({ slot, start, count })),
          [keyValueHeads * count],
        );
        layers.forEach(({ rows }, layer) => {
          rows.forEach((side, index) => {
            const values = new Float32Array(keyValueHeads * count * headSize);
            for (let head = 0; head < keyValueHeads; head++) {
              const from = ((2 * layer + index) * keyValueHeads + head) * part;
              blocks.forEach((block, number) => {
                values.set(block.subarray(from, from + part), (head * blocks.length + number) * part);
              });
            }
            write(side, indices, executor.upload(values, [keyValueHeads * count, headSize]));
          });
        });
      });
    },
    clear() {
      executor.dispose(layers);
      layers = [];
      slotCount = 0;
      capacity = 0;
    },
  };
}
