import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';

type Return = TurnFeedback['data'] & { readonly return: NonNullable<TurnFeedback['data']['return']> };

/** Of the sum of a thousand rewards. */
const ROUNDING = 1e-9;

/**
 * What a turn of a rewarded session earned is its own reward and the discounted mean of what its children in
 * the conversation tree earned; its own reward is one that was given. Feed it conversations before turns.
 */
export function createReturnsCheck() {
  const given = new Map<string, number>();
  const returns = new Map<string, Return>();
  return {
    on: (event: ClawLoopEvent): void => {
      if (event.type === 'feedback.given') given.set(event.id, event.data.score);
      if (event.type === 'turn.feedback' && event.data.return !== undefined)
        returns.set(event.data.turnId, event.data as Return);
    },
    broken: (): readonly string[] => {
      const children = Map.groupBy(returns.values(), (one) => one.return.parent);
      return [...returns.values()].flatMap(
        ({ turnId, score, given: by, return: { own, parent, discount } }) => {
          const earned = (children.get(turnId) ?? []).map((child) => child.score);
          const mean = earned.reduce((sum, one) => sum + one, 0) / (earned.length || 1);
          const sum = (own ?? 0) + discount * mean;
          const wrong: string[] = [];
          if (!(Math.abs(score - sum) <= ROUNDING * Math.max(1, Math.abs(sum))))
            wrong.push(`${turnId} earned ${sum} by the conversation tree, and was told ${score}`);
          if (parent !== null && !returns.has(parent))
            wrong.push(`${turnId} goes on from ${parent}, which was told no return`);
          if (own !== null && given.get(by) !== own)
            wrong.push(`the reward of ${turnId} is ${own}, which ${by} did not give`);
          return wrong;
        },
      );
    },
  };
}
