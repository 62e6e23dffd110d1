import { expect, test } from 'vitest';
import { inTurns } from './in-turns.ts';

test('messages queued before the turn are sent together, in order; later messages wait for the next turn', () => {
  const turns: (() => void)[] = [];
  const sent: (readonly number[])[] = [];
  const send = inTurns<number>(
    (turn) => turns.push(turn),
    (messages) => {
      sent.push(messages);
      if (messages[0] === 1) send(3); // while the first are on their way
    },
  );
  send(1);
  send(2);
  turns.shift()!();
  turns.shift()!();
  expect(sent).toEqual([[1, 2], [3]]);
  expect(turns).toEqual([]);
});
