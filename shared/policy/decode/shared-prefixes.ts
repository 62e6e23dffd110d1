import type { ModelConfig } from '../model/model-config.ts';
import { floatsPerPosition, type KeyValueCache } from '../ops/kv-cache.ts';
import { createPrefixCache, type PrefixCache, type PrefixNode } from './prefix-cache.ts';

/** Keys and values that outlive their sequences, for the decoders of one policy. */
export type SharedPrefixes = PrefixCache<Float32Array>;

/** Tokens per block: at most this many shared tokens are computed again. */
const blockTokens = 64;

/** @param maxBytes of keys and values kept in memory, besides those of the running sequences; 0: none */
export function createSharedPrefixes(config: ModelConfig, maxBytes: number): SharedPrefixes {
  const blockBytes = Float32Array.BYTES_PER_ELEMENT * blockTokens * floatsPerPosition(config);
  return createPrefixCache(blockTokens, Math.floor(maxBytes / blockBytes));
}

/** One decoder's trees, by owner. When there are many, trees without blocks that are not in use are dropped. */
export function createPrefixRoots(
  prefixes: SharedPrefixes,
  isUsed: (root: PrefixNode<Float32Array>) => boolean,
) {
  const roots = new Map<string, PrefixNode<Float32Array>>();
  const forgetEmpty = () => {
    for (const [owner, root] of roots) if (root.children.size === 0 && !isUsed(root)) roots.delete(owner);
  };
  return {
    of: (owner = ''): PrefixNode<Float32Array> => {
      const known = roots.get(owner);
      if (known !== undefined) return known;
      if (roots.size >= mostEmptyRoots) forgetEmpty();
      const root = prefixes.root(owner);
      roots.set(owner, root);
      return root;
    },
    drop: (): void => {
      for (const root of roots.values()) prefixes.drop(root);
      roots.clear();
    },
  };
}

const mostEmptyRoots = 100;

/** A sequence in the cache, whose blocks other sequences with the same beginning share. */
export type CachedSequence = {
  /** Prompt and answer as far as they are known. */
  readonly ids: number[];
  readonly root: PrefixNode<Float32Array>;
  /** Positions in the cache. */
  filled: number;
  /** Of them, positions that were copied instead of computed. */
  cachedTokens: number;
  /** The last of its blocks that is shared; undefined: no further blocks will be shared. */
  lastShared: PrefixNode<Float32Array> | undefined;
  sharedBlocks: number;
};

export const beginShared = (
  root: PrefixNode<Float32Array>,
  promptIds: readonly number[],
): CachedSequence => ({
  ids: [...promptIds],
  root,
  filled: 0,
  cachedTokens: 0,
  lastShared: root,
  sharedBlocks: 0,
});

/** The cache of one decoder, and the blocks that it shares with others. */
export type SharedCache = { readonly cache: KeyValueCache; readonly prefixes: SharedPrefixes };

/** Keeps the full blocks of a slot for sequences with the same beginning. */
export function share({ cache, prefixes }: SharedCache, slot: number, sequence: CachedSequence): void {
  const { blockTokens: count } = prefixes;
  while (sequence.lastShared !== undefined && (sequence.sharedBlocks + 1) * count <= sequence.filled) {
    const start = sequence.sharedBlocks * count;
    const ids = sequence.ids.slice(start, start + count);
    sequence.lastShared = prefixes.store(sequence.lastShared, ids, () => cache.save({ slot, start, count }));
    sequence.sharedBlocks += 1;
  }
}

/** Blocks that are copied at a time: 24 MB for a model of 135M parameters. */
const loadedAtOnce = 8;

/**
 * Copies the next few blocks of the prompt that other sequences have computed into a slot. This includes
 * blocks that were computed since the last call, so that prompts with the same beginning share the work when
 * they are read at the same time.
 *
 * @returns false: no further block is known
 */
export function loadKnown({ cache, prefixes }: SharedCache, slot: number, sequence: CachedSequence): boolean {
  const { blockTokens } = prefixes;
  // The last token is always computed, because its logits are needed.
  const { blocks, node } = prefixes.match(sequence.root, sequence.ids.slice(0, -1));
  const first = Math.floor(sequence.filled / blockTokens);
  const next = blocks.slice(first, first + loadedAtOnce);
  const filled = (first + next.length) * blockTokens;
  if (filled <= sequence.filled) return false;
  cache.load(slot, first * blockTokens, next, blockTokens);
  sequence.cachedTokens += filled - sequence.filled;
  sequence.filled = filled;
  if (blocks.length === first + next.length) {
    sequence.lastShared = node;
    sequence.sharedBlocks = blocks.length;
  }
  return true;
}
