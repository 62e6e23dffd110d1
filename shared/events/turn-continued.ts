import { defineEvent, type EventOf } from './define-event.ts';
import { turnData } from './turn-completed.ts';

/**
 * The words after an answer whose turn was already completed, by feedback or by the person's action. They may
 * contain a hint. Id: `<turn>/continued`.
 */
export const TurnContinued = defineEvent('turn.continued', 2, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: 'The next state of a turn that was completed without one is known.',
  data: turnData,
});
export type TurnContinued = EventOf<typeof TurnContinued>;
