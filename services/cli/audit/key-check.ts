import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ReportViolation } from './audited.ts';
import { type Books, openTextNumbers } from './books/books.ts';

/**
 * Checks that nothing is matched across access keys: no next state, session, feedback or deletion. Feed it
 * conversations, then turns.
 */
export function createKeyCheck(violation: ReportViolation, { items, names }: Books) {
  /** numbers of names plus 1; 0: unknown */
  const keyOf = openTextNumbers(items, 'int');
  const keyOfEpoch = openTextNumbers(names, 'int');
  const numberOf = (key: string): number => names.add(key) + 1;
  return (event: ClawLoopEvent): void => {
    if (
      event.type === 'interaction.completed' ||
      event.type === 'feedback.given' ||
      event.type === 'response.deleted' ||
      event.type === 'interaction.withdrawn' ||
      event.type === 'session.ended'
    )
      keyOf.set(event.id, numberOf(event.data.key));
    if (event.type === 'turn.completed' || event.type === 'turn.continued') {
      const { turnId, session, epoch, from } = event.data;
      const key = numberOf(event.data.key);
      if (keyOf.get(turnId) > 0 && keyOf.get(turnId) !== key) violation(`${turnId} changed its access key`);
      if (from !== null && keyOf.get(from) !== key)
        violation(
          `the next state of ${turnId} comes from ${from}, which has another access key`,
          'conversations',
        );
      const before = keyOfEpoch.get(`${session}@${epoch}`) || key;
      keyOfEpoch.set(`${session}@${epoch}`, before);
      if (before !== key) violation(`session ${session} has turns of two access keys`);
    }
    if (event.type === 'turn.withdrawn') {
      const { turnId, by } = event.data;
      if (keyOf.get(turnId) > 0 && keyOf.get(by) !== keyOf.get(turnId))
        violation(`${turnId} was withdrawn by ${by}, which has another access key`, 'conversations');
    }
    if (event.type === 'turn.feedback') {
      const { turnId, given } = event.data;
      if (keyOf.get(given) !== keyOf.get(turnId))
        violation(`feedback ${given} on ${turnId} is of another access key`, 'conversations');
    }
  };
}
