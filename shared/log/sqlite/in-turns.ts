/**
 * Gathers what is to be sent, and hands it over at once when its turn comes. The order stays.
 *
 * @param atTurn asks for a turn: `setImmediate`, when all that the sockets have brought was looked at;
 *   `process.nextTick`, when the work in hand is done
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
