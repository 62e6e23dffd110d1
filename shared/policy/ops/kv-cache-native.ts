import type { Executor, NativeExecutor, Tensor } from '../executors/executor.ts';
import { reshape } from './arithmetic.ts';
import type {
  CachedRows,
  CacheShape,
  KeyValueCache,
  LayerCache,
  LayerRows,
  NativeRows,
  Piece,
  StepRows,
} from './kv-cache.ts';

const float = { T: 'float32' } as const;
const fill = { T: 'float32', index_type: 'int32' } as const;
const pad = { T: 'float32', Tpaddings: 'int32' } as const;
const slice = { T: 'float32', Index: 'int32' } as const;
const split = { T: 'float32', Tlen: 'int32', num_split: 2 } as const;
const product = { T: 'float32', adj_x: false, adj_y: false } as const;
const productTransposed = { T: 'float32', adj_x: false, adj_y: true } as const;

const transpose = { T: 'float32', Tperm: 'int32' } as const;

const MASKED = -1e9;

type PieceRows = NativeRows & { readonly piece: Piece };

/** Swaps the two middle axes of four. */
const swap = (executor: NativeExecutor, x: Tensor): Tensor =>
  executor.run('Transpose', [x, executor.integers([0, 2, 1, 3])], transpose);

/** Positions [start, start + count) of a slot: [1, keyValueHeads, count, headSize]. A copy. */
function cut(
  executor: NativeExecutor,
  rows: Tensor,
  { shape: { keyValueHeads, headSize }, slots, capacity }: Pick<NativeRows, 'shape' | 'slots' | 'capacity'>,
  { slot, start, count }: Piece,
): Tensor {
  const all = reshape(executor, rows, [slots, keyValueHeads, capacity, headSize]);
  const size = executor.integers([1, keyValueHeads, count, headSize]);
  return executor.run('Slice', [all, executor.integers([slot, 0, start, 0]), size], slice);
}

/** Writes rows [n, headSize] into the cache in place; returns the updated cache. */
const write = (executor: NativeExecutor, cache: Tensor, indices: Tensor, rows: Tensor): Tensor =>
  executor.run('InplaceUpdate', [cache, indices, rows], float);

/** softmax(q k^T + mask) v; each query row of `group` query heads sees the keys of one head. */
function attendOver(
  executor: NativeExecutor,
  { query, keys, values, mask }: Readonly<Record<'query' | 'keys' | 'values' | 'mask', Tensor>>,
): Tensor {
  const scores = executor.run('BatchMatMulV2', [query, keys], productTransposed);
  // the mask of a piece is the same for every head of a group
  const perHead = mask.shape.length === 4 ? scores : reshape(executor, scores, headed(scores, mask));
  const probabilities = executor.run('Softmax', [executor.run('AddV2', [perHead, mask], float)], float);
  const perGroup = mask.shape.length === 4 ? probabilities : reshape(executor, probabilities, scores.shape);
  return executor.run('BatchMatMulV2', [perGroup, values], product);
}

/** [1, keyValueHeads, group * count, seen] as [1, heads, count, seen]. */
const headed = ({ shape }: Tensor, mask: Tensor): readonly number[] => {
  const [count, seen] = mask.shape as [number, number];
  return [1, (shape[1]! * shape[2]!) / count, count, seen];
};

/** One new row of each of the first slots: attends over the whole capacity, masked by its position. */
function attendStep(
  executor: NativeExecutor,
  { layers, shape, slots, capacity, indices, mask }: NativeRows,
  { layer, queryKey, value }: LayerRows,
): Tensor {
  const { heads, keyValueHeads, headSize } = shape;
  const count = mask.shape[0]!;
  const sizes = executor.integers([heads, keyValueHeads]);
  // [1, rows, heads, headSize]
  const [q, k] = executor.runMany('SplitV', [queryKey, sizes, executor.integers(2)], split, 2);
  const width = keyValueHeads * capacity * headSize;
  const [keys, values] = [k!, value].map((fresh, side) => {
    const rows = reshape(executor, fresh, [count * keyValueHeads, headSize]);
    const wide = reshape(executor, write(executor, layers[layer]![side]!, indices, rows), [slots, width]);
    // The first rows of a tensor are shared, not copied, when a row's bytes are a multiple of 64: the rows here
    // are whole slots, and the capacity is a multiple of 16 floats.
    const size = executor.integers([count, width]);
    const first = executor.run('Slice', [wide, executor.integers([0, 0]), size], slice);
    return reshape(executor, first, [count, keyValueHeads, capacity, headSize]);
  });
  const query = reshape(executor, q!, [count, keyValueHeads, heads / keyValueHeads, headSize]);
  // [rows, keyValueHeads, group, headSize]
  const mixed = attendOver(executor, { query, keys: keys!, values: values!, mask });
  return reshape(executor, mixed, [count, heads * headSize]);
}

/** Rows of one slot: attend over the positions before them and over each other. */
function attendPiece(
  executor: NativeExecutor,
  cache: PieceRows,
  { layer, queryKey, value }: LayerRows,
): Tensor {
  const { layers, shape, indices, mask, piece } = cache;
  const { heads, keyValueHeads, headSize } = shape;
  const { slot, start, count } = piece;
  const inputs = [swap(executor, queryKey), executor.integers([heads, keyValueHeads]), executor.integers(1)];
  const [q, k] = executor.runMany('SplitV', inputs, split, 2); // [1, heads, count, headSize]
  const perHead = swap(executor, reshape(executor, value, [1, count, keyValueHeads, headSize]));
  const [keys, values] = [k!, perHead].map((fresh, side) => {
    const rows = reshape(executor, fresh, [keyValueHeads * count, headSize]);
    const written = write(executor, layers[layer]![side]!, indices, rows);
    return cut(executor, written, cache, { slot, start: 0, count: start + count });
  });
  const group = heads / keyValueHeads;
  const query = reshape(executor, q!, [1, keyValueHeads, group * count, headSize]);
  // [1, keyValueHeads, group * count, headSize]
  const mixed = attendOver(executor, { query, keys: keys!, values: values!, mask });
  const joined = swap(executor, reshape(executor, mixed, [1, heads, count, headSize]));
  return reshape(executor, joined, [count, heads * headSize]);
}

const onNative = (executor: Executor): NativeExecutor => {
  if (executor.kind !== 'native') throw new Error('the cache belongs to another executor');
  return executor;
};

const positionsOf = ({ start, count }: Pick<Piece, 'start' | 'count'>): readonly number[] =>
  Array.from({ length: count }, (_, index) => start + index);

/**
 * The cache is in tensors that `InplaceUpdate` writes into, so that a step copies nothing. That op changes its
 * input: no other code may keep these tensors.
 */
export class NativeCache implements KeyValueCache {
  readonly #executor: NativeExecutor;
  readonly #shape: CacheShape;
  #layers: LayerCache[] = [];
  #slots = 0;
  #capacity = 0;

  constructor(executor: NativeExecutor, shape: CacheShape) {
    this.#executor = executor;
    this.#shape = shape;
  }

  resize(slots: number, positions: number): void {
    const capacity = Math.ceil(positions / 16) * 16;
    if (slots === this.#slots && capacity === this.#capacity) return;
    this.#layers = this.#executor.detached(() =>
      Array.from({ length: this.#shape.layers }, (_, index): LayerCache => {
        const old = this.#layers[index];
        const resized = [
          this.#resized(old?.[0], slots, capacity),
          this.#resized(old?.[1], slots, capacity),
        ] as const;
        this.#executor.dispose(old);
        return resized;
      }),
    );
    this.#slots = slots;
    this.#capacity = capacity;
  }

  rowsOf(slots: readonly number[]): readonly number[] {
    return Array.from({ length: Math.max(...slots) + 1 }, (_, slot) => slot);
  }

  begin({ slots, positions }: StepRows): CachedRows {
    const capacity = this.#capacity;
    const visible = new Float32Array(slots.length * capacity).fill(MASKED);
    positions.forEach((position, row) => void visible.fill(0, row * capacity, row * capacity + position + 1));
    const mask = this.#executor.upload(visible, [slots.length, 1, 1, capacity]);
    const indices = this.#rowIndices(slots, (index) => [positions[index]!]);
    return {
      inputs: this.#rowsAt(indices, mask),
      attend: (on, inputs, rows) => attendStep(onNative(on), inputs!, rows),
    };
  }

  extend(piece: Piece): CachedRows {
    const { slot, start, count } = piece;
    const seen = start + count;
    const visible = new Float32Array(count * seen);
    for (let row = 0; row < count; row++)
      visible.fill(MASKED, row * seen + start + row + 1, (row + 1) * seen);
    const mask = this.#executor.upload(visible, [count, seen]);
    const indices = this.#rowIndices([slot], () => positionsOf(piece));
    const pieceRows: PieceRows = { ...this.#rowsAt(indices, mask), piece };
    return {
      inputs: pieceRows,
      attend: (on, inputs, rows) => attendPiece(onNative(on), inputs as PieceRows, rows),
    };
  }

  save(piece: Piece): Float32Array {
    const { layers, keyValueHeads, headSize } = this.#shape;
    const size = keyValueHeads * piece.count * headSize;
    const saved = new Float32Array(2 * layers * size);
    const executor = this.#executor;
    executor.scope(() => {
      const sizes = { shape: this.#shape, slots: this.#slots, capacity: this.#capacity };
      this.#layers.forEach((sides, layer) => {
        sides.forEach((side, index) => {
          saved.set(executor.read(cut(executor, side, sizes, piece)), (2 * layer + index) * size);
        });
      });
    });
    return saved;
  }

  load(slot: number, start: number, blocks: readonly Float32Array[], blockPositions: number): void {
    const { keyValueHeads, headSize } = this.#shape;
    const executor = this.#executor;
    const count = blocks.length * blockPositions;
    const part = blockPositions * headSize; // of one head of one block
    executor.scope(() => {
      const indices = executor.upload(
        this.#rowIndices([slot], () => positionsOf({ start, count })),
        [keyValueHeads * count],
      );
      this.#layers.forEach((sides, layer) => {
        sides.forEach((side, index) => {
          const values = new Float32Array(keyValueHeads * count * headSize);
          for (let head = 0; head < keyValueHeads; head++) {
            const from = ((2 * layer + index) * keyValueHeads + head) * part;
            blocks.forEach((block, number) => {
              values.set(block.subarray(from, from + part), (head * blocks.length + number) * part);
            });
          }
          write(executor, side, indices, executor.upload(values, [keyValueHeads * count, headSize]));
        });
      });
    });
  }

  clear(): void {
    this.#executor.dispose(this.#layers);
    this.#layers = [];
    this.#slots = 0;
    this.#capacity = 0;
  }

  /** Rows of the cache, of all heads, for some positions of each slot. */
  #rowIndices(slots: readonly number[], positions: (index: number) => readonly number[]): Int32Array {
    const { keyValueHeads } = this.#shape;
    return Int32Array.from(
      slots.flatMap((slot, index) =>
        Array.from({ length: keyValueHeads }, (_, head) =>
          positions(index).map((position) => (slot * keyValueHeads + head) * this.#capacity + position),
        ).flat(),
      ),
    );
  }

  #rowsAt(indices: Int32Array, mask: Tensor): NativeRows {
    const { heads, keyValueHeads, headSize } = this.#shape;
    return {
      layers: this.#layers,
      shape: { heads, keyValueHeads, headSize },
      slots: this.#slots,
      capacity: this.#capacity,
      indices: this.#executor.upload(indices, [indices.length]),
      mask,
    };
  }

  /** A copy of one side of a layer in its new size, zeros where nothing was. */
  #resized(old: Tensor | undefined, slots: number, positions: number): Tensor {
    const { keyValueHeads, headSize } = this.#shape;
    const executor = this.#executor;
    return executor.scope(() => {
      const flat = [slots * keyValueHeads * positions, headSize];
      if (old === undefined) return executor.run('Fill', [executor.integers(flat), executor.scalar(0)], fill);
      const [keptSlots, kept] = [Math.min(slots, this.#slots), Math.min(positions, this.#capacity)];
      const all = reshape(executor, old, [this.#slots, keyValueHeads, this.#capacity, headSize]);
      const size = executor.integers([keptSlots, keyValueHeads, kept, headSize]);
      const inside = executor.run('Slice', [all, executor.integers([0, 0, 0, 0]), size], slice);
      const growth = Int32Array.of(0, slots - keptSlots, 0, 0, 0, positions - kept, 0, 0);
      return reshape(executor, executor.run('Pad', [inside, executor.upload(growth, [4, 2])], pad), flat);
    });
  }
}
