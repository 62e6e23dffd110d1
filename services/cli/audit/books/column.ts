/** Entries of one block: a column grows block by block, so it is never copied. A block of zeros takes no memory. */
const BLOCK_BITS = 13;
const BLOCK = 1 << BLOCK_BITS;

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** A list of numbers outside the heap of objects; 0 where nothing was set. */
export type Column = {
  readonly get: (index: number) => number;
  readonly set: (index: number, value: number) => void;
};

/** Values of a column, by the bytes of each. Whole numbers that are too large become the largest. */
export type Width = 'byte' | 'short' | 'int' | 'double';

const largest: Readonly<Record<Width, number>> = {
  byte: 0xff,
  short: 0xffff,
  int: 0xffffffff,
  double: Number.POSITIVE_INFINITY,
};

export function openColumn(width: Width): Column {
  /** undefined: all its entries are 0 */
  const blocks: (Numbers | undefined)[] = [];
  const most = largest[width];
  const addBlock = (at: number): Numbers => {
    const block = blockOf(width);
    while (blocks.length < at) blocks.push(undefined);
    blocks[at] = block;
    return block;
  };
  return {
    get: (index) => blocks[index >>> BLOCK_BITS]?.[index & (BLOCK - 1)] ?? 0,
    set: (index, value) => {
      const at = index >>> BLOCK_BITS;
      const block = blocks[at];
      if (block === undefined && value === 0) return;
      (block ?? addBlock(at))[index & (BLOCK - 1)] = value > most ? most : value;
    },
  };
}

function blockOf(width: Width): Numbers {
  switch (width) {
    case 'byte':
      return new Uint8Array(BLOCK);
    case 'short':
      return new Uint16Array(BLOCK);
    case 'int':
      return new Uint32Array(BLOCK);
    case 'double':
      return new Float64Array(BLOCK);
  }
}

/** A set of small numbers. */
export type Marks = { readonly has: (index: number) => boolean; readonly add: (index: number) => void };

export function openMarks(): Marks {
  const column = openColumn('byte');
  return { has: (index) => column.get(index) === 1, add: (index) => column.set(index, 1) };
}

/** Rows of bytes, all of one length. */
export function openBytes(length: number) {
  const blocks: Buffer[] = [];
  return {
    get: (index: number): Buffer => {
      const from = (index & (BLOCK - 1)) * length;
      return blocks[index >>> BLOCK_BITS]!.subarray(from, from + length);
    },
    /** @param hex twice as many digits as a row has bytes */
    set: (index: number, hex: string): void => {
      const at = index >>> BLOCK_BITS;
      while (blocks.length <= at) blocks.push(Buffer.alloc(BLOCK * length));
      blocks[at]!.write(hex, (index & (BLOCK - 1)) * length, length, 'hex');
    },
  };
}
