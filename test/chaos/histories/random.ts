/** Seeded choices: the same seed gives the same history. */
export type Random = {
  /** in [0, 1) */
  readonly next: () => number;
  readonly chance: (probability: number) => boolean;
  /** in [0, below) */
  readonly int: (below: number) => number;
  readonly of: <Item>(items: readonly Item[]) => Item;
  /** Removes one at random; undefined when there is none. */
  readonly take: <Item>(items: Item[]) => Item | undefined;
};

/** mulberry32 (T. Ettinger) */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    of: (items) => items[int(items.length)]!,
    take: (items) => (items.length === 0 ? undefined : items.splice(int(items.length), 1)[0]),
  };
}

export const hashOf = (text: string): number =>
  [...text].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) >>> 0, 7);
