/**
 * How large the cache of keys and values is: every slot has room for as many positions as the longest
 * needs.
 */
export type CacheSize = { readonly slots: number; readonly positions: number };

/**
 * Positions come in steps of this many: every decode step attends over all of them, and at every change of
 * the size the cache is copied.
 */
const positionStep = 64;

/**
 * The size for sequences of these lengths (undefined: a free slot), of which there is one at least. It
 * grows by doubling slots, and
 * shrinks when half would do, so that it is not copied at every change.
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

/** What there is, while it is enough and less than twice what is needed. */
const steady = (current: number, needed: number, otherwise: number): number =>
  current >= needed && current < 2 * needed ? current : otherwise;
