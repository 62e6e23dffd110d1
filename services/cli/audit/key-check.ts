import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ReportViolation } from './audited.ts';

/**
 * Checks that nothing is matched across access keys: no next state, session, feedback or deletion. Feed it
 * conversations, then turns.
 */
export function createKeyCheck(violation: ReportViolation) {
  const keyOf = new Map<string, string>();
  const keyOfEpoch = new Map<string, string>();
  return (event: ClawLoopEvent): void => {
    if (
      event.type === 'interaction.completed' ||
      event.type === 'feedback.given' ||
      event.type === 'response.deleted' ||
      event.type === 'interaction.withdrawn' ||
      event.type === 'session.ended'
    )
      keyOf.set(event.id, event.data.key);
    if (event.type === 'turn.completed' || event.type === 'turn.continued') {
      const { turnId, session, epoch, key, from } = event.data;
      if (keyOf.has(turnId) && keyOf.get(turnId) !== key) violation(`${turnId} changed its access key`);
      if (from !== null && keyOf.get(from) !== key)
        violation(
          `the next state of ${turnId} comes from ${from}, which has another access key`,
          'conversations',
        );
      const before = keyOfEpoch.get(`${session}@${epoch}`) ?? key;
      keyOfEpoch.set(`${session}@${epoch}`, before);
      if (before !== key) violation(`session ${session} has turns of two access keys`);
    }
    if (event.type === 'turn.withdrawn') {
      const { turnId, by } = event.data;
      if (keyOf.has(turnId) && keyOf.get(by) !== keyOf.get(turnId))
        violation(`${turnId} was withdrawn by ${by}, which has another access key`, 'conversations');
    }
    if (event.type === 'turn.feedback') {
      const { turnId, given } = event.data;
      if (keyOf.get(given) !== keyOf.get(turnId))
        violation(`feedback ${given} on ${turnId} is of another access key`, 'conversations');
    }
  };
}
