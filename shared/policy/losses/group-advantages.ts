import { sum } from '../../lang/numbers.ts';

type GroupAdvantageSettings =
  /** reward - mean of its group */
  | { readonly kind: 'mean' }
  /** divided by (the group's standard deviation + epsilon); unbiased: the deviation divides by n - 1 */
  | { readonly kind: 'grpo'; readonly unbiased: boolean; readonly epsilon: number };

/**
 * Advantages of answers to the same request, relative to each other (GRPO: Shao et al. 2024, "DeepSeekMath",
 * section 4.1.2; without the deviation: Liu et al. 2025, "Understanding R1-Zero-like training"). The only answer of
 * a group has the advantage 0.
 *
 * @param rewards [N]
 * @param groups the group of each reward, [N]
 * @returns [N]
 */
export function groupAdvantages(
  rewards: readonly number[],
  groups: readonly (number | string)[],
  settings: GroupAdvantageSettings,
): readonly number[] {
  const members = Map.groupBy(rewards.keys(), (index) => groups[index]!);
  const advantages = rewards.map(() => 0);
  for (const indices of members.values()) {
    if (indices.length === 1) continue;
    const of = indices.map((index) => rewards[index]!);
    const mean = sum(of) / of.length;
    const scale = settings.kind === 'mean' ? 1 : deviation(of, mean, settings.unbiased) + settings.epsilon;
    for (const index of indices) advantages[index] = (rewards[index]! - mean) / scale;
  }
  return advantages;
}

const deviation = (values: readonly number[], mean: number, unbiased: boolean): number =>
  Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (values.length - Number(unbiased)));
