import type { Executor, Tensor } from '../executors/executor.ts';
import type { AttentionShape, QueriesKeysValues } from './attention-shape.ts';

/** Sizes of a cache of keys and values. */
export type CacheShape = Pick<AttentionShape, 'heads' | 'keyValueHeads' | 'headSize'> & {
  readonly layers: number;
};

/** One new row for each of several sequences. */
export type StepRows = {
  /** Slot of each row. */
  readonly slots: readonly number[];
  /** How many positions of that slot are already filled: the position of the new row. */
  readonly positions: readonly number[];
};

/** New rows of one sequence: a piece of its prompt. */
export type Piece = {
  readonly slot: number;
  /** Filled positions before the piece. */
  readonly start: number;
  readonly count: number;
};

/**
 * Keys and values of the sequences that are being generated, one slot per sequence. Sequences are at different
 * positions. Attention is exact: each row sees its own slot up to and including its own position.
 */
export type KeyValueCache = {
  /** Allocates exactly this many slots and positions; contents within the new size stay. */
  resize(slots: number, positions: number): void;
  /**
   * The rows to compute for a step over `slots`: on native all slots up to the highest, which avoids a copy.
   */
  rowsOf(slots: readonly number[]): readonly number[];
  /** Prepares the inputs that all layers share in one step. Call it in the scope of the step. */
  begin(rows: StepRows): CachedRows;
  /** Like `begin`, for a piece of one sequence; each row also sees the earlier rows of the piece. */
  extend(piece: Piece): CachedRows;
  /**
   * Copies filled positions of a slot out of the cache: [layers, 2 (keys, values), keyValueHeads, count,
   * headSize].
   */
  save(piece: Piece): Float32Array;
  /** Copies consecutive saved blocks, each of `blockPositions` positions, into a slot. */
  load(slot: number, start: number, blocks: readonly Float32Array[], blockPositions: number): void;
  /** Frees the memory; a later `resize` allocates it again. */
  clear(): void;
};

/** Keys, then values, of one layer: [slots * keyValueHeads * capacity, headSize], written in place. */
export type LayerCache = readonly [keys: Tensor, values: Tensor];

/** The inputs of attention of new rows over a native cache, as input of a graph. */
export type NativeRows = {
  readonly layers: readonly LayerCache[];
  readonly shape: Omit<CacheShape, 'layers'>;
  readonly slots: number;
  readonly capacity: number;
  /** Rows of the cache to write to. */
  readonly indices: Tensor;
  /** Added to the scores. */
  readonly mask: Tensor;
};

/** The new rows of one layer: queries, keys and values, one row of all heads for each. */
export type LayerRows = QueriesKeysValues & { readonly layer: number };

/**
 * Attention of new rows over the cache. It is a function of its arguments alone, so that it can become part of
 * a graph.
 */
export type CachedRows = {
  /** On native: the cache, and the position of each row in it. */
  readonly inputs: NativeRows | undefined;
  /**
   * Stores the new keys and values of one layer, then attends.
   * @returns [rows, heads * headSize]
   */
  attend(executor: Executor, inputs: NativeRows | undefined, rows: LayerRows): Tensor;
};

/** Floats per position: keys and values of all layers. */
export const floatsPerPosition = ({ layers, keyValueHeads, headSize }: CacheShape): number =>
  2 * layers * keyValueHeads * headSize;
