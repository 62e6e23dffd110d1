/**
 * Collects messages, and sends them together, in order, when their turn comes.
 *
 * @param atTurn schedules the turn: `setImmediate` waits until all socket input is processed;
 *   `process.nextTick` waits only for the current work
 */
export function inTurns<Message>(
  atTurn: (turn: () => void) => unknown,
  send: (messages: readonly Message[]) => void,
): (message: Message) => void {
  let waiting: Message[] = [];
  const turn = () => {
    const messages = waiting;
    waiting = [];
    send(messages);
  };
  return (message) => {
    if (waiting.push(message) === 1) atTurn(turn);
  };
}
