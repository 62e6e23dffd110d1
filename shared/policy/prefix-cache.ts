/**
 * What was computed for the beginnings of sequences, in blocks of so many tokens, so that sequences that
 * begin
 * alike share it: a tree whose edges are the tokens of a block. Of one root, that is: what was computed with
 * different weights hangs under different roots. Where there is no room, the owner that holds most blocks loses
 * those that it did not use for longest, from the ends of the branches.
 */
export type PrefixCache<Block> = {
  /** Tokens per block. */
  readonly blockTokens: number;
  /** A new, empty tree that shares the room; an owner may have several. */
  root(owner?: string): PrefixNode<Block>;
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
  readonly owner: string;
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
  /** By owner, in order of last use. A parent always stands behind its children, so that the first is an end. */
  const owners = new Map<string, Set<Node>>();
  let size = 0;

  const usedBy = (owner: string): Set<Node> => {
    const used = owners.get(owner) ?? new Set();
    owners.set(owner, used);
    return used;
  };
  const touch = (node: Node): void => {
    if (node.parent === undefined) return;
    const used = usedBy(node.owner);
    for (let at: Node | undefined = node; at?.parent !== undefined; at = at.parent) {
      used.delete(at);
      used.add(at);
    }
  };
  const forget = (node: Node): void => {
    const used = owners.get(node.owner);
    if (!used?.delete(node)) return;
    size -= 1;
    if (used.size === 0) owners.delete(node.owner);
  };
  const remove = (node: Node): void => {
    forget(node);
    node.parent!.children.delete(node.key);
  };
  const mostUsed = (): Set<Node> | undefined => {
    let most: Set<Node> | undefined;
    for (const used of owners.values()) if (used.size > (most?.size ?? 0)) most = used;
    return most;
  };
  const keyOf = (ids: readonly number[], start: number): string | undefined =>
    start + blockTokens > ids.length ? undefined : ids.slice(start, start + blockTokens).join();

  return {
    blockTokens,
    root: (owner = '') => ({ block: undefined, owner, parent: undefined, children: new Map(), key: '' }),
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
      const { owner } = node;
      if (node.parent !== undefined && !owners.get(owner)?.has(node)) return undefined;
      const key = blockIds.join();
      const known = node.children.get(key);
      if (known !== undefined) {
        touch(known);
        return known;
      }
      touch(node); // what it hangs on must not make room for it
      if (size >= maxBlocks) {
        const [oldest] = mostUsed() ?? [];
        if (oldest === undefined || oldest === node) return undefined;
        remove(oldest);
      }
      const added: Node = { block: make(), owner, parent: node, children: new Map(), key };
      node.children.set(key, added);
      touch(added);
      size += 1;
      return added;
    },
    drop(root) {
      const open = [...root.children.values()];
      root.children.clear();
      for (const node of open) {
        forget(node);
        open.push(...node.children.values());
      }
    },
    get size() {
      return size;
    },
  };
}
