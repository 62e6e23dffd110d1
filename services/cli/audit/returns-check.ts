import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { ReportViolation } from './audited.ts';

type Return = TurnFeedback['data'] & { readonly return: NonNullable<TurnFeedback['data']['return']> };

/** tolerance for the sum of a thousand rewards */
const ROUNDING = 1e-9;

/**
 * Checks that the return of a turn is its own reward plus the discounted mean return of its children in the
 * conversation tree, and that its own reward was given. Feed it conversations before turns.
 */
export function createReturnsCheck(violation: ReportViolation) {
  const given = new Map<string, number>();
  const returns = new Map<string, Return>();
  return {
    on: (event: ClawLoopEvent): void => {
      if (event.type === 'feedback.given') given.set(event.id, event.data.score);
      if (event.type === 'turn.feedback' && event.data.return !== undefined)
        returns.set(event.data.turnId, event.data as Return);
    },
    finish: (): void => {
      const children = Map.groupBy(returns.values(), (feedback) => feedback.return.parent);
      for (const { turnId, score, given: by, return: earned } of returns.values()) {
        const { own, parent, discount } = earned;
        const childReturns = (children.get(turnId) ?? []).map((child) => child.score);
        const mean = childReturns.reduce((sum, value) => sum + value, 0) / (childReturns.length || 1);
        const sum = (own ?? 0) + discount * mean;
        if (!(Math.abs(score - sum) <= ROUNDING * Math.max(1, Math.abs(sum))))
          violation(`the return of ${turnId} is ${score}, but ${sum} by the conversation tree`, 'turns');
        if (parent !== null && !returns.has(parent))
          violation(`${turnId} continues from ${parent}, which has no return`, 'turns');
        if (own !== null && given.get(by) !== own)
          violation(`the reward of ${turnId} is ${own}, but ${by} did not give it`, 'conversations');
      }
    },
  };
}
