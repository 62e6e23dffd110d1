/** The size of the cache of keys and values: every slot has room for the positions of the longest sequence. */
export type CacheSize = { readonly slots: number; readonly positions: number };

/**
 * Positions come in multiples of this: a small step, because every decode step attends over all of them; not
 * too small, because every change of size copies the cache.
 */
const positionStep = 64;

/**
 * The size for sequences of these lengths (undefined: a free slot), at least one. It doubles slots to grow and
 * shrinks when half is enough, so that not every change copies the cache.
 *
 * @param maxPositions of all slots together
 * @returns undefined: they do not fit
 */
export function cacheSize(
  current: CacheSize,
  lengths: readonly (number | undefined)[],
  maxPositions: number,
): CacheSize | undefined {
  const least = {
    slots: lengths.findLastIndex((length) => length !== undefined) + 1,
    positions: Math.ceil(Math.max(0, ...lengths.map((length) => length ?? 0)) / positionStep) * positionStep,
  };
  const easy = {
    slots: steady(
      current.slots,
      least.slots,
      Math.min(lengths.length, 2 ** Math.ceil(Math.log2(least.slots))),
    ),
    positions: steady(current.positions, least.positions, least.positions),
  };
  return [easy, least].find(({ slots, positions }) => slots * positions <= maxPositions);
}

/** The current size, while it is enough and less than twice the need. */
const steady = (current: number, needed: number, otherwise: number): number =>
  current >= needed && current < 2 * needed ? current : otherwise;
