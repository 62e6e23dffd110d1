import { groupAdvantages } from '../../shared/policy/losses/group-advantages.ts';

export type AdvantageKind = 'mean' | 'grpo';

/** added to the deviation that `grpo` divides by */
const EPSILON = 1e-6;

/**
 * Advantages of the attempts at a task relative to each other. With fewer than two there is no advantage, and
 * the trainer measures the reward against its own baseline.
 *
 * @param rewards of the rewarded attempts, [N]
 * @returns [N]
 */
export function advantagesOf(
  rewards: readonly number[],
  kind: AdvantageKind,
): readonly (number | undefined)[] {
  if (rewards.length < 2) return rewards.map(() => undefined);
  const settings = kind === 'mean' ? { kind } : ({ kind, unbiased: true, epsilon: EPSILON } as const);
  return groupAdvantages(
    rewards,
    rewards.map(() => 'task'),
    settings,
  );
}
