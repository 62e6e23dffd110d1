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

/**
 * One decoder's trees, by owner. Those without blocks are forgotten when there are many, but for those in use.
 */
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

/** What of a sequence is shared. */
export type CachedSequence = {
  readonly ids: number[];
  /** Positions in the cache. */
  filled: number;
  /** Of them, those that were copied instead of computed. */
  cachedTokens: number;
  /** Where its blocks that are shared end; undefined: no more of them will be. */
  shared: PrefixNode<Float32Array> | undefined;
  sharedBlocks: number;
};

export const beginShared = (
  root: PrefixNode<Float32Array>,
  promptIds: readonly number[],
): CachedSequence => ({
  ids: [...promptIds],
  filled: 0,
  cachedTokens: 0,
  shared: root,
  sharedBlocks: 0,
});

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

/** Blocks that are copied at once: 24 MB of a model of 135M parameters. */
const loadedAtOnce = 8;

/**
 * Copies blocks of the prompt that others have computed into a slot, the next few; those that are computed
 * meanwhile too, so that several that begin alike at the same time share the work.
 *
 * @returns false: nothing more is known
 */
export function loadKnown(
  cache: KeyValueCache,
  prefixes: SharedPrefixes,
  root: PrefixNode<Float32Array>,
  slot: number,
  sequence: CachedSequence,
): boolean {
  const { blockTokens } = prefixes;
  // The last token is always read: its logits are wanted.
  const { blocks, node } = prefixes.match(root, sequence.ids.slice(0, -1));
  const first = Math.floor(sequence.filled / blockTokens);
  const next = blocks.slice(first, first + loadedAtOnce);
  const filled = (first + next.length) * blockTokens;
  if (filled <= sequence.filled) return false;
  cache.load(slot, first * blockTokens, next, blockTokens);
  sequence.cachedTokens += filled - sequence.filled;
  sequence.filled = filled;
  if (blocks.length === first + next.length) {
    sequence.shared = node;
    sequence.sharedBlocks = blocks.length;
  }
  return true;
}
