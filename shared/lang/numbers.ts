/** Adds in the given order, since the rounding depends on it. */
export function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const one of numbers) total += one;
  return total;
}

/** NaN for an empty list. */
export const mean = (numbers: readonly number[]): number => sum(numbers) / numbers.length;
