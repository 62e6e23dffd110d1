import { expect, test } from 'vitest';
import type { InputEvent } from '../../shared/log/fold.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { attribute } from './attribute.ts';
import { feedback, interaction, sessionEnded, timeAt, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const DAY = 24 * 60;

/** An exchange in a session of its own: two answers, the first of which is completed. Times are minutes. */
function exchange(id: string, said: number, recorded = said): readonly InputEvent[] {
  const session = `session-${id}`;
  const first = interaction({ id: `${id}1`, at: said, session, messages: [user('hi')], answer: 'hello' });
  const messages = [user('hi'), first.data.answer, user('thanks')];
  const second = interaction({ id: `${id}2`, at: said, session, messages, answer: 'bye' });
  return [first, second].map((event) => ({ ...event, recorded: Date.parse(timeAt(recorded)) }));
}
const told = (...events: readonly (readonly InputEvent[])[]) =>
  runFold(attribute, events.flat(), {}).emitted.map(brief);

test('an answer that was stamped two days ahead makes no later one too late', () => {
  expect(told(exchange('a', 2 * DAY, 0), exchange('b', 1), exchange('c', 2))).toEqual([
    'completed a1 <- thanks',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
  ]);
});

test('a machine whose clock was two days ahead for a while goes on as before, and forgets nothing', () => {
  const [before, ...rest] = exchange('a', 0);
  const over = [before!, feedback({ id: 'f' }, 'a1', 1), sessionEnded({ id: 'e' }, 'session-a'), ...rest];
  const copies = over.map((event) => ({ ...event, recorded: Date.parse(timeAt(3)) }));
  expect(told(over, exchange('b', 2 * DAY), exchange('c', 1), exchange('d', 2), copies)).toEqual([
    'completed a1 <- ',
    'feedback a1: 1',
    'closed session-a',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
    'completed d1 <- thanks',
  ]);
});

test('a lane whose row is far in the future since an earlier version recovers with the next answer', () => {
  const ahead = Date.parse(timeAt(2 * DAY));
  for (const row of [
    { time: ahead, sweptAt: ahead },
    { time: ahead, sweptAt: 0 },
  ]) {
    const rows = memoryRows([['lane/now', row]]);
    const emitted = exchange('a', 0).flatMap((event, offset) => {
      const { changes, emit } = attribute.on(rows, event, { partition: 0, offset }, {});
      rows.apply(changes);
      return emit;
    });
    expect(emitted).toHaveLength(1);
    expect(rows.get('lane/now')).toMatchObject({ time: Date.parse(timeAt(0)) });
  }
});

test('a host whose clock is two days back is attributed, among answers of hosts whose clock is right', () => {
  expect(told(exchange('a', 2 * DAY), exchange('b', 0), exchange('c', 2 * DAY + 1))).toEqual([
    'completed a1 <- thanks',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
  ]);
});

test('what waited in an outbox for more than a day is too late, as its id may be forgotten', () => {
  expect(told(exchange('a', 2 * DAY), exchange('b', 0, 2 * DAY + 1))).toEqual([
    'completed a1 <- thanks',
    'skipped b1: too-late',
    'skipped b2: too-late',
  ]);
});
