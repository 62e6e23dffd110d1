import { randomInt } from 'node:crypto';
import { openColumn } from './column.ts';

/** Numbers texts from 0 on, in the order in which they come. It knows a text by 64 bits of a hash. */
export type Ids = {
  /** The number of a text; a new text gets the next number. */
  readonly add: (text: string) => number;
  /** -1: the text has no number. */
  readonly find: (text: string) => number;
  readonly size: () => number;
};

const FIRST_SLOTS = 1 << 12;

/**
 * About 14 bytes per text. Two of ten million texts get one number with a chance of three in a million. Each set
 * has its own hash, so nobody can prepare such texts.
 */
export function openIds(): Ids {
  const seeds = Uint32Array.of(randomInt(2 ** 32), randomInt(2 ** 32));
  const [low, high] = [openColumn('int'), openColumn('int')];
  /** number plus 1, at the first free place from the hash on */
  let slots = new Uint32Array(FIRST_SLOTS);
  let size = 0;
  const hash = new Uint32Array(2);
  let last: string | undefined;
  let lastNumber = 0;

  /** The slot of the hashed text, or the free one for it. */
  const slotOf = (a: number, b: number): number => {
    const mask = slots.length - 1;
    for (let slot = a & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot]! - 1;
      if (number < 0 || (low.get(number) === a && high.get(number) === b)) return slot;
    }
  };
  const grow = (): void => {
    slots = new Uint32Array(slots.length * 2);
    const mask = slots.length - 1;
    for (let number = 0; number < size; number++) {
      let slot = low.get(number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
  };
  const find = (text: string): number => {
    // many checks ask for the same text of one record
    if (text === last) return lastNumber;
    hashInto(hash, text, seeds);
    const number = slots[slotOf(hash[0]!, hash[1]!)]! - 1;
    if (number < 0) return number;
    last = text;
    lastNumber = number;
    return number;
  };
  const add = (text: string): number => {
    const known = find(text);
    if (known >= 0) return known;
    if (size + 1 > slots.length * 0.75) grow();
    const [a, b] = [hash[0]!, hash[1]!];
    slots[slotOf(a, b)] = size + 1;
    low.set(size, a);
    high.set(size, b);
    last = text;
    lastNumber = size;
    return size++;
  };
  return { add, find, size: () => size };
}

function hashInto(hash: Uint32Array, text: string, seeds: Uint32Array): void {
  let a = seeds[0]! | 0;
  let b = seeds[1]! | 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x9e3779b1);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ code ^ a, 0x85ebca6b);
    b = (b << 17) | (b >>> 15);
  }
  a = Math.imul(a ^ (b >>> 15), 0x2c1b3c6d);
  b = Math.imul(b ^ (a >>> 13), 0x297a2d39);
  hash[0] = a ^ (b >>> 16);
  hash[1] = b;
}

/** Ids that can be read back. */
export type Names = Ids & { readonly nameOf: (number: number) => string };

/** Names that are few or often read: kept as strings. */
export function openNames(): Names {
  const ids = openIds();
  const names: string[] = [];
  const add = (text: string): number => {
    const number = ids.add(text);
    if (number === names.length) names.push(text);
    return number;
  };
  return { ...ids, add, nameOf: (number) => names[number]! };
}

/** bytes of a block of text */
const BLOCK = 1 << 20;

/** Names that are many and seldom read: kept as bytes. */
export function openManyNames(): Names {
  const ids = openIds();
  const [places, lengths] = [openColumn('double'), openColumn('int')];
  const blocks: Buffer[] = [];
  let free = 0;
  const write = (number: number, text: string): void => {
    const length = Buffer.byteLength(text);
    if (free + length > blocks.length * BLOCK || blocks.length === 0) {
      free = blocks.length * BLOCK;
      blocks.push(Buffer.alloc(BLOCK));
    }
    // a text of more than a block has a block of its own, which nothing else is written to
    if (length > BLOCK) blocks[blocks.length - 1] = Buffer.from(text);
    else blocks.at(-1)!.write(text, free - (blocks.length - 1) * BLOCK);
    places.set(number, free);
    lengths.set(number, length);
    free += Math.min(length, BLOCK);
  };
  const add = (text: string): number => {
    const before = ids.size();
    const number = ids.add(text);
    if (number === before) write(number, text);
    return number;
  };
  const nameOf = (number: number): string => {
    const place = places.get(number);
    const from = place % BLOCK;
    return blocks[Math.floor(place / BLOCK)]!.toString('utf8', from, from + lengths.get(number));
  };
  return { ...ids, add, nameOf };
}
