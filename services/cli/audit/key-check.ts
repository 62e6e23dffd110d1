import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Tell } from './audited.ts';

/**
 * Nothing is matched across access keys: no next state, no session, no feedback, no deletion. Feed it
 * conversations first, then turns.
 */
export function createKeyCheck(broken: Tell) {
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
      if (keyOf.has(turnId) && keyOf.get(turnId) !== key) broken(`${turnId} changed its access key`);
      if (from !== null && keyOf.get(from) !== key)
        broken(
          `the next state of ${turnId} comes from ${from}, which is of another access key`,
          'conversations',
        );
      const before = keyOfEpoch.get(`${session}@${epoch}`) ?? key;
      keyOfEpoch.set(`${session}@${epoch}`, before);
      if (before !== key) broken(`session ${session} has turns of two access keys`);
    }
    if (event.type === 'turn.withdrawn') {
      const { turnId, by } = event.data;
      if (keyOf.has(turnId) && keyOf.get(by) !== keyOf.get(turnId))
        broken(`${turnId} was withdrawn by ${by}, which is of another access key`, 'conversations');
    }
    if (event.type === 'turn.feedback') {
      const { turnId, given } = event.data;
      if (keyOf.get(given) !== keyOf.get(turnId))
        broken(`feedback ${given} on ${turnId} is of another access key`, 'conversations');
    }
  };
}
