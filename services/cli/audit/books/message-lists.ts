import { openColumn } from './column.ts';

const FIRST_SLOTS = 1 << 12;

/**
 * Lists of message digests. A request repeats the messages of the one before it, so lists that begin alike share
 * their beginning: about 14 bytes per message that is new.
 */
export function openMessageLists() {
  /** by node: the node of the message before it, plus 1; and its digest */
  const [before, digests] = [openColumn('int'), openColumn('int')];
  let slots = new Uint32Array(FIRST_SLOTS);
  let size = 0;

  const startOf = (parent: number, digest: number): number =>
    Math.imul(Math.imul(parent, 0x9e3779b1) ^ digest, 0x85ebca6b) >>> 7;
  /** The slot of the node, or the free one for it. Slots hold a node's number plus 1, as `parent` does. */
  const slotOf = (parent: number, digest: number): number => {
    const mask = slots.length - 1;
    for (let slot = startOf(parent, digest) & mask; ; slot = (slot + 1) & mask) {
      const node = slots[slot]!;
      if (node === 0 || (before.get(node - 1) === parent && digests.get(node - 1) === digest)) return slot;
    }
  };
  const grow = (): void => {
    slots = new Uint32Array(slots.length * 2);
    for (let node = 0; node < size; node++) slots[slotOf(before.get(node), digests.get(node))] = node + 1;
  };
  const nodeAfter = (parent: number, digest: number): number => {
    const known = slots[slotOf(parent, digest)]!;
    if (known > 0) return known;
    if (size + 1 > slots.length * 0.75) grow();
    before.set(size, parent);
    digests.set(size, digest);
    slots[slotOf(parent, digest)] = size + 1;
    return ++size;
  };

  return {
    /** @returns the number of the list; 0: it is empty */
    add: (list: readonly number[]): number => list.reduce(nodeAfter, 0),
    /** Whether a list has these digests, in this order, with others between them or not. */
    contains: (list: number, wanted: readonly number[]): boolean => {
      let missing = wanted.length;
      for (let node = list; node > 0 && missing > 0; node = before.get(node - 1))
        if (digests.get(node - 1) === wanted[missing - 1]) missing -= 1;
      return missing === 0;
    },
  };
}
