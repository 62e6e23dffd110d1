/**
 * What was computed for the beginnings of sequences, in blocks of so many tokens, so that sequences that
 * begin
 * alike share it: a tree whose edges are the tokens of a block. Of one root, that is: what was computed with
 * different weights hangs under different roots. The blocks that were not used for longest go first, from the
 * ends of the branches.
 */
export type PrefixCache<Block> = {
  /** Tokens per block. */
  readonly blockTokens: number;
  /** A new, empty tree that shares the room. */
  root(): PrefixNode<Block>;
  /**
   * The longest known beginning of `ids`, in whole blocks, and where it ends in the tree. It counts as used.
   */
  match(root: PrefixNode<Block>, ids: readonly number[]): PrefixMatch<Block>;
  /**
   * Adds the block that follows `node`. `make` is called only when it is not known yet. Undefined: there is
   * no
   * room, or `node` has gone; then nothing behind it can be stored.
   */
  store(
    node: PrefixNode<Block>,
    blockIds: readonly number[],
    make: () => Block,
  ): PrefixNode<Block> | undefined;
  /** Forgets all that hangs under a root. */
  drop(root: PrefixNode<Block>): void;
  /** Blocks held, of all roots. */
  readonly size: number;
};

export type PrefixNode<Block> = {
  readonly block: Block | undefined;
  readonly parent: PrefixNode<Block> | undefined;
  readonly children: Map<string, PrefixNode<Block>>;
  /** Its tokens, as its parent knows it. */
  readonly key: string;
};

export type PrefixMatch<Block> = {
  readonly blocks: readonly Block[];
  readonly node: PrefixNode<Block>;
};

/** @param maxBlocks held at a time; 0: nothing is kept */
export function createPrefixCache<Block>(blockTokens: number, maxBlocks: number): PrefixCache<Block> {
  type Node = PrefixNode<Block>;
  /** In order of last use. A parent always stands behind its children, so that the first is an end. */
  const used = new Set<Node>();

  const touch = (node: Node): void => {
    for (let at: Node | undefined = node; at?.parent !== undefined; at = at.parent) {
      used.delete(at);
      used.add(at);
    }
  };
  const remove = (node: Node): void => {
    used.delete(node);
    node.parent!.children.delete(node.key);
  };
  const keyOf = (ids: readonly number[], start: number): string | undefined =>
    start + blockTokens > ids.length ? undefined : ids.slice(start, start + blockTokens).join();

  return {
    blockTokens,
    root: () => ({ block: undefined, parent: undefined, children: new Map(), key: '' }),
    match(root, ids) {
      const blocks: Block[] = [];
      let node = root;
      for (;;) {
        const key = keyOf(ids, blocks.length * blockTokens);
        const next = key === undefined ? undefined : node.children.get(key);
        if (next === undefined) break;
        blocks.push(next.block!);
        node = next;
      }
      touch(node);
      return { blocks, node };
    },
    store(node, blockIds, make) {
      if (node.parent !== undefined && !used.has(node)) return undefined;
      const key = blockIds.join();
      const known = node.children.get(key);
      if (known !== undefined) {
        touch(known);
        return known;
      }
      touch(node); // what it hangs on must not make room for it
      if (used.size >= maxBlocks) {
        const [oldest] = used;
        if (oldest === undefined || oldest === node) return undefined;
        remove(oldest);
      }
      const added: Node = { block: make(), parent: node, children: new Map(), key };
      node.children.set(key, added);
      touch(added);
      return added;
    },
    drop(root) {
      const open = [...root.children.values()];
      root.children.clear();
      for (const node of open) {
        used.delete(node);
        open.push(...node.children.values());
      }
    },
    get size() {
      return used.size;
    },
  };
}
