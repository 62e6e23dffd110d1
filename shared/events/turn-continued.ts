import { defineEvent, type EventOf } from './define-event.ts';
import { turnData } from './turn-completed.ts';

/**
 * What was said after an answer whose turn was complete before, by feedback or by what the person did. The words
 * may bring a hint. Id: `<turn>/continued`.
 */
export const TurnContinued = defineEvent('turn.continued', 1, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: 'The next state of a turn that was complete without one is known.',
  data: turnData,
});
export type TurnContinued = EventOf<typeof TurnContinued>;
