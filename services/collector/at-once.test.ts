import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attribute } from './attribute.ts';
import {
  assistant,
  feedback,
  type InteractionGiven,
  interaction,
  responseDeleted,
  sessionEnded,
  timeAt,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const emitted = (events: readonly ClawLoopEvent[]) => runFold(attribute, events, { atOnce: true }).emitted;
const told = (events: readonly ClawLoopEvent[]) =>
  emitted(events).map((fact) => {
    const { implies } = fact.data as { readonly implies?: string };
    return `${brief(fact)}${implies === undefined ? '' : ` (${implies})`}`;
  });

const hi = [user('hi')];
const goesOn = (answer: string, words: string) => [...hi, assistant(answer), user(words)];
/** Asked a minute before it is answered. */
const asked = (
  id: string,
  at: number,
  more: Omit<InteractionGiven, 'id' | 'at' | 'messages'> & {
    readonly messages?: readonly ChatMessage[];
  },
) =>
  interaction({
    messages: hi,
    timing: { startedAt: timeAt(at - 0.5), firstTokenMs: 1, totalMs: 2 },
    ...{ ...more, id, at },
  });

test('a thumb on the last answer tells of its turn at once, whether anything is said after it or not', () => {
  const rated = [asked('a', 1, { answer: 'long' }), feedback({ id: 'f', at: 2 }, 'a', -1)];
  expect(told(rated)).toEqual(['completed a <- ', 'feedback a: -1']);
  expect(emitted(rated)[0]!.data).toMatchObject({ from: null, by: 'f', turnId: 'a' });
  expect(told([...rated, sessionEnded({ id: 'e', at: 3 }, 'chat-a')]).slice(2)).toEqual(['closed chat-a']);
});

test('what is said after a thumb is told once, as what the turn went on with', () => {
  const events = [
    asked('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    asked('b', 3, { messages: goesOn('long', 'No lists, please.'), answer: 'short' }),
    asked('c', 5, {
      messages: [...goesOn('long', 'No lists, please.'), assistant('short'), user('ok')],
      answer: 'x',
    }),
    feedback({ id: 'g', at: 6 }, 'a', 1),
  ];
  expect(told(events)).toEqual([
    'completed a <- ',
    'feedback a: -1',
    'continued a <- No lists, please.',
    'completed b <- ok',
    'feedback a: 1',
  ]);
});

test('feedback that overtook its interaction tells of it as soon as it comes', () => {
  const events = [feedback({ id: 'f', at: 0 }, 'a', 1), asked('a', 1, { answer: 'x' })];
  expect(told(events)).toEqual(['completed a <- ', 'feedback a: 1']);
});

test('a copy of a thumb, or of what came after it, changes nothing', () => {
  const events = [
    asked('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    asked('b', 3, { messages: goesOn('long', 'Too long.'), answer: 'short' }),
  ];
  expect(told([...events, ...events])).toEqual(told(events));
});

test('an answer that was rated and then deleted is withdrawn, and goes on with nothing', () => {
  const events = [
    asked('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    responseDeleted({ id: 'd', at: 3 }, 'a', 'default'),
    asked('b', 4, { messages: goesOn('long', 'Too long.'), answer: 'short' }),
  ];
  expect(told(events).slice(2)).toEqual(['withdrawn a: default']);
});

test('asking for another answer refuses the first; going on from the second prefers it', () => {
  const events = [
    asked('a', 1, { answer: 'first' }),
    asked('b', 3, { answer: 'second' }),
    asked('c', 5, { messages: goesOn('second', 'And another subject?'), answer: 'x' }),
  ];
  expect(told(events)).toEqual([
    'completed a <-  (regenerated)',
    'completed b <- And another subject? (kept)',
  ]);
});

test('who goes back to the answer that they refused is heard', () => {
  const events = [
    asked('a', 1, { answer: 'first' }),
    asked('b', 3, { answer: 'second' }),
    asked('c', 5, { messages: goesOn('first', 'This one was better.'), answer: 'x' }),
  ];
  expect(told(events)).toEqual([
    'completed a <-  (regenerated)',
    'continued a <- This one was better.',
    'skipped b: superseded',
  ]);
});

test('answers that were asked for at one time, and a request that a client tried again, refuse nothing', () => {
  const timing = { startedAt: timeAt(0), firstTokenMs: 1, totalMs: 2 };
  const events = [
    asked('a', 1, { answer: 'first', timing }),
    asked('b', 3, { answer: 'second', timing }),
    asked('c', 5, { messages: goesOn('second', 'Go on.'), answer: 'x' }),
  ];
  expect(told(events)).toEqual(['completed b <- Go on.', 'skipped a: superseded']);
});

test('a program that draws many answers to one request is no person who refuses them all', () => {
  const events = Array.from({ length: 8 }, (_, i) => asked(`a${i}`, 1 + 2 * i, { answer: `answer ${i}` }));
  expect(told(events)).toEqual(['completed a0 <-  (regenerated)', 'completed a1 <-  (regenerated)']);
});

test('a request that is changed and sent again refuses the answer to the first one', () => {
  const chat = goesOn('hello', 'Tell me about moss.');
  const events = [
    asked('a', 1, { answer: 'hello' }),
    asked('b', 3, { messages: chat, answer: 'a long text' }),
    asked('c', 5, { messages: goesOn('hello', 'Tell me about moss in one line.'), answer: 'short' }),
  ];
  expect(told(events)).toEqual(['completed a <- Tell me about moss.', 'completed b <-  (edited)']);
});

test('an abandoned session stays neutral', () => {
  const events = [asked('a', 1, { answer: 'x' }), sessionEnded({ id: 'e', at: 2 }, 'chat-a')];
  expect(told(events)).toEqual(['skipped a: no-next-state', 'closed chat-a']);
});

test('under the rules of an earlier program feedback waits for the next state', () => {
  const rated = [asked('a', 1, { answer: 'long' }), feedback({ id: 'f', at: 2 }, 'a', -1)];
  expect(runFold(attribute, rated, {}).emitted).toEqual([]);
});
