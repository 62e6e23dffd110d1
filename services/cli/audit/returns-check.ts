import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { Tell } from './audited.ts';

type Return = TurnFeedback['data'] & { readonly return: NonNullable<TurnFeedback['data']['return']> };

/** Of the sum of a thousand rewards. */
const ROUNDING = 1e-9;

/**
 * What a turn of a rewarded session earned is its own reward and the discounted mean of what its children in
 * the conversation tree earned; its own reward is one that was given. Feed it conversations before turns.
 */
export function createReturnsCheck(tell: Tell) {
  const given = new Map<string, number>();
  const returns = new Map<string, Return>();
  return {
    on: (event: ClawLoopEvent): void => {
      if (event.type === 'feedback.given') given.set(event.id, event.data.score);
      if (event.type === 'turn.feedback' && event.data.return !== undefined)
        returns.set(event.data.turnId, event.data as Return);
    },
    finish: (): void => {
      const children = Map.groupBy(returns.values(), (one) => one.return.parent);
      for (const { turnId, score, given: by, return: earned } of returns.values()) {
        const { own, parent, discount } = earned;
        const ofChildren = (children.get(turnId) ?? []).map((child) => child.score);
        const mean = ofChildren.reduce((sum, one) => sum + one, 0) / (ofChildren.length || 1);
        const sum = (own ?? 0) + discount * mean;
        if (!(Math.abs(score - sum) <= ROUNDING * Math.max(1, Math.abs(sum))))
          tell(`${turnId} earned ${sum} by the conversation tree, and was told ${score}`, 'turns');
        if (parent !== null && !returns.has(parent))
          tell(`${turnId} goes on from ${parent}, which was told no return`, 'turns');
        if (own !== null && given.get(by) !== own)
          tell(`the reward of ${turnId} is ${own}, which ${by} did not give`, 'conversations');
      }
    },
  };
}
