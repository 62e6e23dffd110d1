import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { attribute } from './attribute.ts';
import { feedback, interaction, sessionEnded, timeAt, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { emittedLines, goesOn, hi } from './testing/short-chat.ts';

test('feedback waits for the next state and follows its turn', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      feedback({ id: 'f' }, 'a', -1),
      interaction({ id: 'b', messages: goesOn('hello', 'shorter, please'), answer: 'hey' }),
      feedback({ id: 'g' }, 'a', 1),
    ]),
  ).toEqual(['completed a <- shorter, please', 'feedback a: -1', 'feedback a: 1']);
});

test('early feedback is kept for its interaction, unless from another access key', () => {
  expect(
    emittedLines([
      feedback({ id: 'f' }, 'a', 1),
      feedback({ id: 'g', key: 'other' }, 'a', -1),
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      sessionEnded({ id: 'e' }, 'chat-a'),
    ]),
  ).toEqual(['completed a <- ', 'feedback a: 1', 'closed chat-a']);
});

test('the end of a session skips open turns with a reason', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello', session: 's' }),
      interaction({ id: 'b', messages: [user('other')], answer: 'x', session: 's', settle: 'reward' }),
      sessionEnded({ id: 'e' }, 's'),
    ]),
  ).toEqual(['skipped a: no-next-state', 'skipped b: no-reward', 'closed s']);
});

test('a discarded session trains no turn, rewarded or not', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello', session: 's', settle: 'reward' }),
      interaction({ id: 'b', messages: [user('other')], answer: 'x', session: 's', settle: 'reward' }),
      feedback({ id: 'f' }, 'b', 1),
      sessionEnded({ id: 'e' }, 's', { discard: true }),
    ]),
  ).toEqual(['skipped a: discarded', 'skipped b: discarded', 'closed s']);
});

test('an outdated idle timer ends nothing', () => {
  const events = [
    interaction({ id: 'a', messages: hi, answer: 'hello', session: 's' }),
    feedback({ id: 'f' }, 'a', 1),
  ];
  expect(emittedLines([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'a', last: 'a' })])).toEqual([]);
  expect(emittedLines([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'x', last: 'f' })])).toEqual([]);
  expect(emittedLines([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'a', last: 'f' })]).at(-1)).toBe(
    'closed s',
  );
});

test('a reply after the end begins a new epoch and is not evidence for the turn before', () => {
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      sessionEnded({ id: 'e' }, 'chat-a'),
      interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' }),
      sessionEnded({ id: 'e2' }, 'chat-a'),
    ],
    {},
  );
  expect(emitted.map(({ id }) => id)).toEqual([
    'a/skipped',
    'chat-a@a/closed',
    'b/skipped',
    'chat-a@b/closed',
  ]);
});

test('a copy counts once; an event more than a day behind its lane is not attributed', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const day = 24 * 60;
  expect(
    emittedLines([a, a, interaction({ id: 'b', at: day + 1, messages: [user('x')], answer: 'y' }), a]),
  ).toEqual([]);
  expect(
    emittedLines([
      interaction({ id: 'b', at: day + 1, messages: [user('x')], answer: 'y' }),
      a,
      interaction({ id: 'c', messages: hi, answer: 'z', live: false }),
    ]),
  ).toEqual(['skipped a: too-late']);
});

test('a closed session is forgotten after a day; a late copy of its turn is too late', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const { emitted, rows } = runFold(
    attribute,
    [
      a,
      feedback({ id: 'f' }, 'a', 1),
      sessionEnded({ id: 'e' }, 'chat-a'),
      interaction({ id: 'b', at: 2 * 24 * 60, messages: [user('x')], answer: 'y', session: 'later' }),
      // Rows expire by the clock of an hour ago, so that one wrong reading forgets nothing.
      interaction({ id: 'c', at: 2 * 24 * 60 + 60, messages: [user('z')], answer: 'y', session: 'later' }),
      a,
    ],
    {},
  );
  expect(emitted.map(brief).at(-1)).toBe('skipped a: too-late');
  const left = [...rows.get('lane')!.entries('')].map(([key]) => key);
  expect(left.filter((key) => /\/a$|chat-a|\/f$|\/e$/.test(key))).toEqual([]);
});

test('an inactive lane is forgotten except for its time; earlier events are too late', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const over = [a, feedback({ id: 'f' }, 'a', 1), sessionEnded({ id: 'e' }, 'chat-a')];
  const forgotten = (at: number) =>
    LaneForgotten.create({
      id: `forgotten-${at}`,
      source: 'test',
      time: timeAt(9999),
      data: { lane: 'lane', last: timeAt(at) },
    });
  const keysAfter = (events: readonly ClawLoopEvent[]) =>
    [...runFold(attribute, events, {}).rows.get('lane')!.entries('')].map(([key]) => key);
  const whole = keysAfter(over);
  expect(keysAfter([...over, forgotten(0)])).toEqual(['lane/now']);
  expect(keysAfter([...over, forgotten(1)])).toEqual(whole); // it is outdated
  expect(keysAfter([a, forgotten(0)])).toEqual(keysAfter([a])); // a session is open
  expect(keysAfter([...over, forgotten(0), forgotten(0)])).toEqual(['lane/now']);

  const later = interaction({ id: 'b', at: 1, messages: hi, answer: 'again', session: 'chat-a' });
  const { emitted } = runFold(
    attribute,
    [...over, forgotten(0), a, later, sessionEnded({ id: 'e2', at: 2 }, 'chat-a')],
    {},
  );
  expect(emitted.map(brief)).toEqual([
    'completed a <- ',
    'feedback a: 1',
    'closed chat-a',
    'turns.forgotten',
    'skipped a: too-late',
    'skipped b: no-next-state',
    'closed chat-a',
  ]);
});
