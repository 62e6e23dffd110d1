import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { ReportViolation } from './audited.ts';
import { type Books, openTextSet } from './books/books.ts';

type Feedback = { readonly id: string; readonly score: number; readonly seenAs: number };

/**
 * Checks that explicit feedback decides its turn if it precedes the event that settled it, and that a turn
 * waiting for a reward is never settled by votes. Feed it each lane's events of `turns` in order.
 */
export function createSettlementCheck(violation: ReportViolation, { items, causes }: Books) {
  const feedbackOn = new Map<string, Feedback[]>();
  const awaitsReward = openTextSet(items);
  /** turns whose votes are added to their return, whichever comes last */
  const steps = openTextSet(items);

  const onJudgment = ({ turnId, score, source, by }: JudgmentReached['data']): void => {
    const given = feedbackOn.get(turnId) ?? [];
    const settled = causes.find(by);
    if (settled < 0) violation(`${turnId} was settled by ${by}, which is not in the log before it`, 'turns');
    else if (!steps.has(turnId) && given.some((feedback) => feedback.seenAs < settled))
      violation(`${turnId} had feedback before ${by} settled it, but the feedback did not decide`);
    if ((source === 'reward' || source === 'reward+process') && !awaitsReward.has(turnId))
      violation(`${turnId} does not wait for a reward, but was settled by one`, 'turns');
    if (
      !steps.has(turnId) &&
      (source === 'feedback' || source === 'reward') &&
      given.find(({ id }) => id === by)?.score !== score
    )
      violation(`${turnId} was settled by feedback, but not with its score`, 'turns');
    if (source === 'votes' && awaitsReward.has(turnId))
      violation(`${turnId} waits for a reward, but was settled by votes`);
  };

  return (event: ClawLoopEvent): void => {
    switch (event.type) {
      case 'turn.completed':
        if (event.data.settle === 'reward') awaitsReward.add(event.data.turnId);
        if (event.data.process !== undefined) steps.add(event.data.turnId);
        // the person's action settles the turn before feedback can
        causes.add(event.id);
        break;
      case 'turn.feedback':
      case 'vote.cast':
      case 'hint.cast':
      case 'vote.expired':
      case 'vote.failed':
      case 'turn.withdrawn':
      case 'session.closed': {
        const number = causes.add(event.id); // of the first copy
        if (event.type !== 'turn.feedback') break;
        const { turnId, score } = event.data;
        feedbackOn.set(turnId, [...(feedbackOn.get(turnId) ?? []), { id: event.id, score, seenAs: number }]);
        break;
      }
      case 'judgment.reached':
        onJudgment(event.data);
        break;
    }
  };
}
