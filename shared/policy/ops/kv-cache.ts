import type { Executor, Tensor } from '../executors/executor.ts';
import type { AttentionShape } from './attention.ts';
import { createNativeCache, type NativeRows } from './kv-cache-native.ts';
import { createWasmCache } from './kv-cache-wasm.ts';

/** Sizes of a cache of keys and values. */
export type CacheShape = Pick<AttentionShape, 'heads' | 'keyValueHeads' | 'headSize'> & {
  readonly layers: number;
};

/** One new row of each of some sequences. */
export type StepRows = {
  /** Slot of each row. */
  readonly slots: readonly number[];
  /** How many positions of that slot are filled already: where the new row goes. */
  readonly positions: readonly number[];
};

/** New rows of one sequence: those of a piece of its prompt. */
export type Piece = {
  readonly slot: number;
  /** Filled positions before the piece. */
  readonly start: number;
  readonly count: number;
};

/**
 * Keys and values of the sequences that are being generated, in slots. Sequences stand at different
 * positions; what is attended to is exact: each row sees its own slot up to and including itself.
 */
export type KeyValueCache = {
  /** Gives so many slots and positions room, no more and no less; what lies within stays. */
  resize(slots: number, positions: number): void;
  /**
   * The rows to compute for a step over `slots`: on native all slots up to the highest one, so that no copy
   * is needed.
   */
  rowsOf(slots: readonly number[]): readonly number[];
  /** Prepares what all layers share for one step. Call it in the scope of the step. */
  begin(rows: StepRows): CachedRows;
  /** The same for a piece of one sequence, whose rows see each other too, as far as they come before. */
  extend(piece: Piece): CachedRows;
  /**
   * Copies filled positions of a slot out of the cache: [layers, 2 (keys, values), keyValueHeads, count,
   * headSize].
   */
  save(piece: Piece): Float32Array;
  /** Copies blocks that were saved into a slot, one behind the other, each of `blockPositions` positions. */
  load(slot: number, start: number, blocks: readonly Float32Array[], blockPositions: number): void;
  /** Frees the memory; a later `resize` starts anew. */
  clear(): void;
};

/**
 * Attention of new rows over the cache, so that it may become part of a graph: a function of its inputs
 * alone,
 * on the executor that it is given.
 */
export type CachedRows = {
  /** On native: the cache, and where the rows stand in it. */
  readonly inputs: NativeRows | undefined;
  /**
   * For one layer; stores the new keys and values first.
   *
   * @param queryKey after RoPE: rows of [heads + keyValueHeads, headSize]
   * @param value rows of [keyValueHeads, headSize]
   * @returns [rows, heads * headSize]
   */
  attend(
    executor: Executor,
    inputs: NativeRows | undefined,
    layer: number,
    queryKey: Tensor,
    value: Tensor,
  ): Tensor;
};

export const createKeyValueCache = (executor: Executor, shape: CacheShape): KeyValueCache =>
  executor.kind === 'native' ? createNativeCache(executor, shape) : createWasmCache(executor, shape);

/** Floats that one position takes: keys and values of all layers. */
export const floatsPerPosition = ({ layers, keyValueHeads, headSize }: CacheShape): number =>
  2 * layers * keyValueHeads * headSize;
