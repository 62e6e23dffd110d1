import type { ModelConfig } from './model-config.ts';
import { floatsPerPosition, type KeyValueCache } from './ops/kv-cache.ts';
import { createPrefixCache, type PrefixCache, type PrefixNode } from './prefix-cache.ts';

/** Keys and values that outlive their sequences, for the decoders of one policy. */
export type SharedPrefixes = PrefixCache<Float32Array>;

/** Tokens per block: so many at most are computed again. */
const blockTokens = 64;

/** @param maxBytes of keys and values kept in memory, besides those of the sequences that run; 0: none */
export function createSharedPrefixes(config: ModelConfig, maxBytes: number): SharedPrefixes {
  const blockBytes = Float32Array.BYTES_PER_ELEMENT * blockTokens * floatsPerPosition(config);
  return createPrefixCache(blockTokens, Math.floor(maxBytes / blockBytes));
}

/** What of a sequence is shared. */
export type CachedSequence = {
  readonly ids: number[];
  /** Positions in the cache. */
  filled: number;
  /** Blocks of an earlier sequence that are still to be copied. */
  known: readonly Float32Array[];
  /** Where its blocks that are shared end; undefined: no more of them will be. */
  shared: PrefixNode<Float32Array> | undefined;
  sharedBlocks: number;
};

/** Keeps the blocks of a slot that are full for those who begin alike. */
export function share(
  cache: KeyValueCache,
  prefixes: SharedPrefixes,
  slot: number,
  sequence: CachedSequence,
): void {
  const { blockTokens: count } = prefixes;
  while (sequence.shared !== undefined && (sequence.sharedBlocks + 1) * count <= sequence.filled) {
    const start = sequence.sharedBlocks * count;
    const ids = sequence.ids.slice(start, start + count);
    sequence.shared = prefixes.store(sequence.shared, ids, () => cache.save({ slot, start, count }));
    sequence.sharedBlocks += 1;
  }
}

/** Blocks that are copied at once: a few ms. */
const loadedAtOnce = 16;

/** Copies the next known blocks into a slot. */
export function loadKnown(
  cache: KeyValueCache,
  prefixes: SharedPrefixes,
  slot: number,
  sequence: CachedSequence,
): void {
  const blocks = sequence.known.slice(0, loadedAtOnce);
  cache.load(slot, sequence.filled, blocks, prefixes.blockTokens);
  sequence.known = sequence.known.slice(loadedAtOnce);
  sequence.filled += blocks.length * prefixes.blockTokens;
}
