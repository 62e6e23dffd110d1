/**
 * Growth of a series per sample: the median of the slopes between all pairs (Theil 1950, Sen 1968). One
 * reading in the middle of a garbage collection does not move it.
 */
export function slopeOf(values: readonly number[]): number {
  const slopes: number[] = [];
  for (let i = 0; i < values.length; i++) {
    for (let j = i + 1; j < values.length; j++) slopes.push((values[j]! - values[i]!) / (j - i));
  }
  slopes.sort((a, b) => a - b);
  const middle = slopes.length >> 1;
  if (slopes.length === 0) return 0;
  return slopes.length % 2 === 1 ? slopes[middle]! : (slopes[middle - 1]! + slopes[middle]!) / 2;
}

/** By how much a series grew from its first to its last sample, along that slope. */
export const growthOf = (values: readonly number[]): number =>
  slopeOf(values) * Math.max(0, values.length - 1);
