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
const emittedLines = (events: readonly ClawLoopEvent[]) =>
  emitted(events).map((fact) => {
    const { implies } = fact.data as { readonly implies?: string };
    return `${brief(fact)}${implies === undefined ? '' : ` (${implies})`}`;
  });

const hi = [user('hi')];
const goesOn = (answer: string, words: string) => [...hi, assistant(answer), user(words)];
/** A request sent a minute before it is answered. */
const request = (
  id: string,
  at: number,
  more: Omit<InteractionGiven, 'id' | 'at' | 'messages'> & {
    readonly messages?: readonly ChatMessage[];
  },
) =>
  interaction({
    messages: hi,
    timing: { startedAt: timeAt(at - 0.5), firstTokenMs: 1, totalMs: 2 },
    ...more,
    id,
    at,
  });

test('feedback on the last answer completes its turn at once', () => {
  const rated = [request('a', 1, { answer: 'long' }), feedback({ id: 'f', at: 2 }, 'a', -1)];
  expect(emittedLines(rated)).toEqual(['completed a <- ', 'feedback a: -1']);
  expect(emitted(rated)[0]!.data).toMatchObject({ from: null, by: 'f', turnId: 'a' });
  expect(emittedLines([...rated, sessionEnded({ id: 'e', at: 3 }, 'chat-a')]).slice(2)).toEqual([
    'closed chat-a',
  ]);
});

test('the next state after feedback is emitted once, as a continuation', () => {
  const events = [
    request('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    request('b', 3, { messages: goesOn('long', 'No lists, please.'), answer: 'short' }),
    request('c', 5, {
      messages: [...goesOn('long', 'No lists, please.'), assistant('short'), user('ok')],
      answer: 'x',
    }),
    feedback({ id: 'g', at: 6 }, 'a', 1),
  ];
  expect(emittedLines(events)).toEqual([
    'completed a <- ',
    'feedback a: -1',
    'continued a <- No lists, please.',
    'completed b <- ok',
    'feedback a: 1',
  ]);
});

test('feedback that arrived before its interaction completes it on arrival', () => {
  const events = [feedback({ id: 'f', at: 0 }, 'a', 1), request('a', 1, { answer: 'x' })];
  expect(emittedLines(events)).toEqual(['completed a <- ', 'feedback a: 1']);
});

test('copies of feedback and of the next state change nothing', () => {
  const events = [
    request('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    request('b', 3, { messages: goesOn('long', 'Too long.'), answer: 'short' }),
  ];
  expect(emittedLines([...events, ...events])).toEqual(emittedLines(events));
});

test('an answer that is rated and then deleted is withdrawn and has no continuation', () => {
  const events = [
    request('a', 1, { answer: 'long' }),
    feedback({ id: 'f', at: 2 }, 'a', -1),
    responseDeleted({ id: 'd', at: 3 }, 'a', 'default'),
    request('b', 4, { messages: goesOn('long', 'Too long.'), answer: 'short' }),
  ];
  expect(emittedLines(events).slice(2)).toEqual(['withdrawn a: default']);
});

test('asking for another answer refuses the first; continuing from the second prefers it', () => {
  const events = [
    request('a', 1, { answer: 'first' }),
    request('b', 3, { answer: 'second' }),
    request('c', 5, { messages: goesOn('second', 'And another subject?'), answer: 'x' }),
  ];
  expect(emittedLines(events)).toEqual([
    'completed a <-  (regenerated)',
    'completed b <- And another subject? (kept)',
  ]);
});

test('returning to a refused answer gives it a next state', () => {
  const events = [
    request('a', 1, { answer: 'first' }),
    request('b', 3, { answer: 'second' }),
    request('c', 5, { messages: goesOn('first', 'This one was better.'), answer: 'x' }),
  ];
  expect(emittedLines(events)).toEqual([
    'completed a <-  (regenerated)',
    'continued a <- This one was better.',
    'skipped b: superseded',
  ]);
});

test('parallel answers and retried requests refuse nothing', () => {
  const timing = { startedAt: timeAt(0), firstTokenMs: 1, totalMs: 2 };
  const events = [
    request('a', 1, { answer: 'first', timing }),
    request('b', 3, { answer: 'second', timing }),
    request('c', 5, { messages: goesOn('second', 'Go on.'), answer: 'x' }),
  ];
  expect(emittedLines(events)).toEqual(['completed b <- Go on.', 'skipped a: superseded']);
});

test('a program that draws many answers to one request does not refuse them all', () => {
  const events = Array.from({ length: 8 }, (_, i) => request(`a${i}`, 1 + 2 * i, { answer: `answer ${i}` }));
  expect(emittedLines(events)).toEqual(['completed a0 <-  (regenerated)', 'completed a1 <-  (regenerated)']);
});

test('an edited request refuses the answer to the original', () => {
  const chat = goesOn('hello', 'Tell me about moss.');
  const events = [
    request('a', 1, { answer: 'hello' }),
    request('b', 3, { messages: chat, answer: 'a long text' }),
    request('c', 5, { messages: goesOn('hello', 'Tell me about moss in one line.'), answer: 'short' }),
  ];
  expect(emittedLines(events)).toEqual(['completed a <- Tell me about moss.', 'completed b <-  (edited)']);
});

test('an abandoned session stays neutral', () => {
  const events = [request('a', 1, { answer: 'x' }), sessionEnded({ id: 'e', at: 2 }, 'chat-a')];
  expect(emittedLines(events)).toEqual(['skipped a: no-next-state', 'closed chat-a']);
});

test('without the setting, feedback waits for the next state', () => {
  const rated = [request('a', 1, { answer: 'long' }), feedback({ id: 'f', at: 2 }, 'a', -1)];
  expect(runFold(attribute, rated, {}).emitted).toEqual([]);
});

test('each change of a request refuses the answer before it', () => {
  const events = [
    request('a', 1, { answer: 'pasta' }),
    request('b', 3, { messages: goesOn('pasta', 'a dessert'), answer: 'ice cream' }),
    request('c', 5, { messages: goesOn('pasta', 'a warm dessert'), answer: 'pancakes' }),
    request('d', 7, { messages: goesOn('pasta', 'a warm dessert without milk'), answer: 'baked apples' }),
  ];
  const refused = (laterEdits: boolean) =>
    runFold(attribute, events, { atOnce: true, laterEdits }).emitted.flatMap(({ type, data }) =>
      type === 'turn.completed' && data.implies !== undefined ? [`${data.turnId} ${data.implies}`] : [],
    );
  expect(refused(true)).toEqual(['b edited', 'c edited']);
  expect(refused(false)).toEqual(['b edited']);
});
