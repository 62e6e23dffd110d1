/**
 * Results computed for the beginnings of sequences, in blocks of a fixed number of tokens, so that sequences
 * with the same beginning share them. It is a forest whose edges are the tokens of a block. Results from
 * different weights are under different roots. If there is no room, the owner with the most blocks loses its
 * least recently used ones, from the ends of the branches.
 */
export type PrefixCache<Block> = {
  /** Tokens per block. */
  readonly blockTokens: number;
  /** A new, empty tree that shares the room; an owner may have several. */
  root(owner?: string): PrefixNode<Block>;
  /**
   * The longest known beginning of `ids`, in whole blocks, and where it ends in the tree. Counts as a use of
   * these blocks.
   */
  match(root: PrefixNode<Block>, ids: readonly number[]): PrefixMatch<Block>;
  /**
   * Adds the block that follows `node`. Calls `make` only if the block is not known yet. Undefined: there is
   * no room, or `node` was removed; then no block after it can be stored.
   */
  store(
    node: PrefixNode<Block>,
    blockIds: readonly number[],
    make: () => Block,
  ): PrefixNode<Block> | undefined;
  /** Removes all blocks under a root. */
  drop(root: PrefixNode<Block>): void;
  /** Number of blocks, of all roots. */
  readonly size: number;
};

export type PrefixNode<Block> = {
  readonly block: Block | undefined;
  readonly owner: string;
  readonly parent: PrefixNode<Block> | undefined;
  readonly children: Map<string, PrefixNode<Block>>;
  /** Its tokens, the key in its parent's children. */
  readonly key: string;
};

type PrefixMatch<Block> = {
  readonly blocks: readonly Block[];
  readonly node: PrefixNode<Block>;
};

/** @param maxBlocks kept at a time; 0: none */
export const createPrefixCache = <Block>(blockTokens: number, maxBlocks: number): PrefixCache<Block> =>
  new BlockForest(blockTokens, maxBlocks);

class BlockForest<Block> implements PrefixCache<Block> {
  readonly blockTokens: number;
  readonly #maxBlocks: number;
  /** By owner, least recently used first. A parent is always after its children: the first node is a leaf. */
  readonly #owners = new Map<string, Set<PrefixNode<Block>>>();
  #size = 0;

  constructor(blockTokens: number, maxBlocks: number) {
    this.blockTokens = blockTokens;
    this.#maxBlocks = maxBlocks;
  }

  root(owner = ''): PrefixNode<Block> {
    return { block: undefined, owner, parent: undefined, children: new Map(), key: '' };
  }

  match(root: PrefixNode<Block>, ids: readonly number[]): PrefixMatch<Block> {
    const blocks: Block[] = [];
    let node = root;
    for (;;) {
      const key = this.#keyAt(ids, blocks.length * this.blockTokens);
      const next = key === undefined ? undefined : node.children.get(key);
      if (next === undefined) break;
      blocks.push(next.block!);
      node = next;
    }
    this.#touch(node);
    return { blocks, node };
  }

  store(
    node: PrefixNode<Block>,
    blockIds: readonly number[],
    make: () => Block,
  ): PrefixNode<Block> | undefined {
    const { owner } = node;
    if (node.parent !== undefined && !this.#owners.get(owner)?.has(node)) return undefined;
    const key = blockIds.join();
    const known = node.children.get(key);
    if (known !== undefined) {
      this.#touch(known);
      return known;
    }
    this.#touch(node); // the ancestors of the new block must not make room for it
    if (this.#size >= this.#maxBlocks) {
      const [oldest] = this.#largest() ?? [];
      if (oldest === undefined || oldest === node) return undefined;
      this.#remove(oldest);
    }
    const added: PrefixNode<Block> = { block: make(), owner, parent: node, children: new Map(), key };
    node.children.set(key, added);
    this.#touch(added);
    this.#size += 1;
    return added;
  }

  drop(root: PrefixNode<Block>): void {
    const open = [...root.children.values()];
    root.children.clear();
    for (const node of open) {
      this.#forget(node);
      open.push(...node.children.values());
    }
  }

  get size(): number {
    return this.#size;
  }

  #keyAt(ids: readonly number[], start: number): string | undefined {
    const end = start + this.blockTokens;
    return end > ids.length ? undefined : ids.slice(start, end).join();
  }

  /** Marks a node and its ancestors as used. */
  #touch(node: PrefixNode<Block>): void {
    if (node.parent === undefined) return;
    const used = this.#owners.get(node.owner) ?? new Set();
    this.#owners.set(node.owner, used);
    for (let at: PrefixNode<Block> | undefined = node; at?.parent !== undefined; at = at.parent) {
      used.delete(at);
      used.add(at);
    }
  }

  #forget(node: PrefixNode<Block>): void {
    const used = this.#owners.get(node.owner);
    if (!used?.delete(node)) return;
    this.#size -= 1;
    if (used.size === 0) this.#owners.delete(node.owner);
  }

  #remove(node: PrefixNode<Block>): void {
    this.#forget(node);
    node.parent!.children.delete(node.key);
  }

  /** The blocks of the owner that has most. */
  #largest(): ReadonlySet<PrefixNode<Block>> | undefined {
    let most: Set<PrefixNode<Block>> | undefined;
    for (const used of this.#owners.values()) if (used.size > (most?.size ?? 0)) most = used;
    return most;
  }
}
