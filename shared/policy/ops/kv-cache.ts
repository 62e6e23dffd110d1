import type { Executor, Tensor } from '../executors/executor.ts';
import type { AttentionSaved, AttentionShape } from './attention.ts';
import { createNativeCache } from './kv-cache-native.ts';
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

/**
 * Keys and values of the sequences that are being generated, in slots. Sequences stand at different
 * positions; what is attended to is exact: each row sees its own slot up to and including itself.
 */
export type KeyValueCache = {
  /** Makes room for so many slots and positions; contents stay. */
  reserve(slots: number, positions: number): void;
  /** Stores the keys and values of a prompt: those of an attention over one whole sequence. */
  fill(slot: number, layer: number, saved: AttentionSaved, positions: number): void;
  /**
   * The rows to compute for a step over `slots`: on native all slots up to the highest one, so that no copy
   * is needed.
   */
  rowsOf(slots: readonly number[]): readonly number[];
  /** Prepares what all layers share for one step. Call it in the scope of the step. */
  begin(rows: StepRows): StepAttention;
  /** Frees the memory; a later `reserve` starts anew. */
  clear(): void;
};

/**
 * Attention of one new row per slot over the cache, for one layer; stores the new keys and values first.
 *
 * @param queryKey after RoPE: rows of [heads + keyValueHeads, headSize]
 * @param value rows of [keyValueHeads, headSize]
 * @returns [rows, heads * headSize]
 */
export type StepAttention = (layer: number, queryKey: Tensor, value: Tensor) => Tensor;

export const createKeyValueCache = (executor: Executor, shape: CacheShape): KeyValueCache =>
  executor.kind === 'native' ? createNativeCache(executor, shape) : createWasmCache(executor, shape);
