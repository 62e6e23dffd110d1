import type { Random } from '../../policy/model/random.ts';

export type { Random };

export const chance = (random: Random, probability: number): boolean => random() < probability;

/** An integer in [low, high]. */
export const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random() * (high - low + 1));

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  if (values.length === 0) throw new RangeError('there are no values to pick from');
  return values[Math.floor(random() * values.length)]!;
}

/** Picks a value with a probability proportional to its weight. */
export function pickWeighted<Value>(random: Random, weighted: readonly (readonly [number, Value])[]): Value {
  const total = weighted.reduce((sum, [weight]) => sum + weight, 0);
  let rest = random() * total;
  for (const [weight, value] of weighted) {
    rest -= weight;
    if (rest < 0) return value;
  }
  return weighted.at(-1)![1];
}

/** Fisher-Yates; does not change the input. */
export function shuffle<Value>(random: Random, values: readonly Value[]): readonly Value[] {
  const shuffled = [...values];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = between(random, 0, last);
    [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
  }
  return shuffled;
}

/** `count` different values in random order; all of them when there are fewer. */
export const sample = <Value>(random: Random, values: readonly Value[], count: number): readonly Value[] =>
  shuffle(random, values).slice(0, count);
