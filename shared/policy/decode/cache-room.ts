import type { KeyValueCache } from '../ops/kv-cache.ts';
import { type CacheSize, cacheSize } from './cache-size.ts';

/** Positions that the caches of several decoders may have together, and how many they have. */
export type CacheBudget = { readonly positions: number; taken: number };

/** Thrown when all slots are in use, or all positions of the cache budget. */
export class DecoderFull extends Error {
  override readonly name = 'DecoderFull';
}

/** Lengths of sequences by slot; undefined: the slot is free. */
type Lengths = readonly (number | undefined)[];

const noSize: CacheSize = { slots: 0, positions: 0 };

/** Keeps a cache as large as its sequences need, within a budget. */
export class CacheRoom {
  readonly #cache: KeyValueCache;
  readonly #budget: CacheBudget;
  #size = noSize;

  constructor(cache: KeyValueCache, budget: CacheBudget = { positions: Number.POSITIVE_INFINITY, taken: 0 }) {
    this.#cache = cache;
    this.#budget = budget;
  }

  fits(lengths: Lengths): boolean {
    return this.#sizeFor(lengths) !== undefined;
  }

  /** @throws DecoderFull */
  make(lengths: Lengths): void {
    const next = this.#sizeFor(lengths);
    if (next === undefined)
      throw new DecoderFull(`the sequences need more than ${this.#budget.positions} positions`);
    this.#resize(next);
  }

  /** Resizes for the remaining sequences, if they fit the budget. */
  shrink(lengths: Lengths): void {
    const next = this.#sizeFor(lengths);
    if (next !== undefined) this.#resize(next);
  }

  clear(): void {
    this.#cache.clear();
    this.#take(noSize);
  }

  #sizeFor(lengths: Lengths): CacheSize | undefined {
    const { positions, taken } = this.#budget;
    return cacheSize(this.#size, lengths, positions - taken + this.#size.slots * this.#size.positions);
  }

  #resize(next: CacheSize): void {
    this.#cache.resize(next.slots, next.positions);
    this.#take(next);
  }

  #take(next: CacheSize): void {
    this.#budget.taken += next.slots * next.positions - this.#size.slots * this.#size.positions;
    this.#size = next;
  }
}
