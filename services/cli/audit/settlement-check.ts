import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { Tell } from './audited.ts';

type Feedback = { readonly id: string; readonly score: number; readonly seenAs: number };

/**
 * Explicit feedback that stands before whatever settled its turn decides it, with its own score; a turn that
 * waits for a reward is never settled by votes. Feed it each lane's facts of `turns` in order.
 */
export function createSettlementCheck(broken: Tell) {
  /** running number of what may settle a turn, by id; of copies the first counts */
  const seenAs = new Map<string, number>();
  const feedbackOn = new Map<string, Feedback[]>();
  const awaitsReward = new Set<string>();

  const onJudgment = ({ turnId, score, source, by }: JudgmentReached['data']): void => {
    const given = feedbackOn.get(turnId) ?? [];
    const settled = seenAs.get(by);
    if (settled === undefined) broken(`${turnId} was settled by ${by}, which stands nowhere before`, 'turns');
    else if (given.some((feedback) => feedback.seenAs < settled))
      broken(`${turnId} had feedback before ${by} settled it, which did not decide`);
    if (source === 'reward' && !awaitsReward.has(turnId))
      broken(`${turnId} does not wait for a reward, and was settled by one`, 'turns');
    if ((source === 'feedback' || source === 'reward') && given.find(({ id }) => id === by)?.score !== score)
      broken(`${turnId} was settled by feedback, but not with its score`, 'turns');
    if (source === 'votes' && awaitsReward.has(turnId))
      broken(`${turnId} waits for a reward, and was settled by votes`);
  };

  return (event: ClawLoopEvent): void => {
    switch (event.type) {
      case 'turn.completed':
        if (event.data.settle === 'reward') awaitsReward.add(event.data.turnId);
        // what a person did tells of the turn before its feedback can
        if (!seenAs.has(event.id)) seenAs.set(event.id, seenAs.size);
        break;
      case 'turn.feedback':
      case 'vote.cast':
      case 'hint.cast':
      case 'vote.expired':
      case 'vote.failed':
      case 'turn.withdrawn':
      case 'session.closed': {
        const number = seenAs.get(event.id) ?? seenAs.size;
        seenAs.set(event.id, number);
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
