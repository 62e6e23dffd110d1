import { expect } from 'vitest';

/** Work that takes less is not measured: a garbage collection takes as long. Milliseconds. */
const TOO_LITTLE = 60;
/** Four times the text: four times the time where it grows in proportion, sixteen times where by the square. */
const MOST_GROWTH = 9;

/**
 * Asserts that work grows in proportion to its text: processor time, whatever else the machine does. Stops at
 * the first size that takes too long, so that a test of code that hangs does not hang itself.
 */
export function expectLinear(name: string, work: (size: number) => void, sizes = [4_000, 16_000]): void {
  let before = Number.POSITIVE_INFINITY;
  for (const size of sizes) {
    const spent = processorTime(() => work(size));
    const growth = spent / Math.max(before, TOO_LITTLE / MOST_GROWTH);
    expect(
      spent < TOO_LITTLE || growth < MOST_GROWTH,
      `${name}: ${spent} ms for ${size}, ${before} before`,
    ).toBe(true);
    before = spent;
  }
}

/** Of two runs the faster one, milliseconds: the first may be that of the compiler. */
function processorTime(work: () => void): number {
  const times: number[] = [];
  while (times.length < 2 && (times[0] ?? TOO_LITTLE) >= TOO_LITTLE) {
    const start = process.threadCpuUsage();
    work();
    times.push(process.threadCpuUsage(start).user / 1000);
  }
  return Math.min(...times);
}
