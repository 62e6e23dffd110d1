import { expect, test } from 'vitest';
import type { InputEvent } from '../../shared/log/fold.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { attribute } from './attribute.ts';
import { feedback, interaction, sessionEnded, timeAt, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const DAY = 24 * 60;

/** A session with two answers, the first of which is completed. Times are in minutes. */
function exchange(id: string, at: number, recorded = at): readonly InputEvent[] {
  const session = `session-${id}`;
  const first = interaction({ id: `${id}1`, at, session, messages: [user('hi')], answer: 'hello' });
  const messages = [user('hi'), first.data.answer, user('thanks')];
  const second = interaction({ id: `${id}2`, at, session, messages, answer: 'bye' });
  return [first, second].map((event) => ({ ...event, recorded: Date.parse(timeAt(recorded)) }));
}
const emittedLines = (...events: readonly (readonly InputEvent[])[]) =>
  runFold(attribute, events.flat(), {}).emitted.map(brief);

test('an answer stamped two days ahead makes no later one too late', () => {
  expect(emittedLines(exchange('a', 2 * DAY, 0), exchange('b', 1), exchange('c', 2))).toEqual([
    'completed a1 <- thanks',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
  ]);
});

test('a clock that was temporarily two days ahead forgets nothing', () => {
  const [before, ...rest] = exchange('a', 0);
  const over = [before!, feedback({ id: 'f' }, 'a1', 1), sessionEnded({ id: 'e' }, 'session-a'), ...rest];
  const copies = over.map((event) => ({ ...event, recorded: Date.parse(timeAt(3)) }));
  expect(emittedLines(over, exchange('b', 2 * DAY), exchange('c', 1), exchange('d', 2), copies)).toEqual([
    'completed a1 <- ',
    'feedback a1: 1',
    'closed session-a',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
    'completed d1 <- thanks',
  ]);
});

test('a lane row far in the future recovers with the next answer', () => {
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

test('answers of a host two days behind are attributed among those of correct hosts', () => {
  expect(emittedLines(exchange('a', 2 * DAY), exchange('b', 0), exchange('c', 2 * DAY + 1))).toEqual([
    'completed a1 <- thanks',
    'completed b1 <- thanks',
    'completed c1 <- thanks',
  ]);
});

test('an answer that waited in an outbox for more than a day is too late', () => {
  expect(emittedLines(exchange('a', 2 * DAY), exchange('b', 0, 2 * DAY + 1))).toEqual([
    'completed a1 <- thanks',
    'skipped b1: too-late',
    'skipped b2: too-late',
  ]);
});
