import { expect, test } from 'vitest';
import { attribute } from './attribute.ts';
import { assistant, callsTool, interaction, sessionEnded, toolResult, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { emittedLines, goesOn, hi } from './testing/short-chat.ts';

test("the person's next message completes the turn with its tokens and messages", () => {
  const first = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const second = interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' });
  const { emitted } = runFold(attribute, [first, second], {});
  expect(emitted).toHaveLength(1);
  expect(emitted[0]).toMatchObject({
    id: 'a/completed',
    type: 'turn.completed',
    subject: 'lane',
    data: {
      turnId: 'a',
      session: 'chat-a',
      epoch: 'a',
      sessionBy: 'new',
      rule: 'conversation',
      messages: hi,
      answer: assistant('hello'),
      tokens: first.data.tokens,
      next: [user('thanks')],
      from: 'b',
      by: 'b',
    },
  });
});

test('of two answers to a retried request, the one that the client kept is the turn', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: hi, answer: 'hey' }),
      interaction({ id: 'c', messages: goesOn('hey', 'thanks'), answer: 'welcome' }),
    ]),
  ).toEqual(['completed b <- thanks', 'skipped a: superseded']);
});

test('of several choices in mid-chat, the one that is continued is the turn', () => {
  const history = [...goesOn('hello', 'thanks'), assistant('welcome'), user('and now?')];
  const choices = [
    interaction({ id: 'b-2', messages: history, answer: 'sleep' }),
    interaction({ id: 'b-1', messages: history, answer: 'read' }),
    interaction({ id: 'b', messages: history, answer: 'walk' }),
  ];
  const next = [...history, assistant('read'), user('which book?')];
  expect(emittedLines([...choices, interaction({ id: 'c', messages: next, answer: 'any' })])).toEqual([
    'completed b-1 <- which book?',
    'skipped b-2: superseded',
    'skipped b: superseded',
  ]);
});

test('of equal answers the latest is kept', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: hi, answer: 'hello' }),
      interaction({ id: 'c', messages: goesOn('hello', 'thanks'), answer: 'welcome' }),
    ]),
  ).toEqual(['completed b <- thanks', 'skipped a: superseded']);
});

test('a new chat with the same beginning is a new session once the old one continued', () => {
  const again = [
    interaction({ id: 'a', messages: hi, answer: 'hello' }),
    interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' }),
    interaction({ id: 'c', messages: hi, answer: 'hey' }),
    interaction({ id: 'd', messages: goesOn('hey', 'no'), answer: 'oh' }),
  ];
  const { emitted } = runFold(attribute, again, {});
  expect(emitted.map((event) => (event.data as { session: string }).session)).toEqual(['chat-a', 'chat-c']);
});

test('all parallel tool results and the words after them are the next state', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: callsTool('look', '{"a": 1,"b":2}') }),
      interaction({
        id: 'b',
        messages: [
          ...hi,
          callsTool('look', '{"b":2,"a":1}'),
          toolResult('x'),
          toolResult('y'),
          user('go on'),
        ],
        answer: 'done',
      }),
    ]),
  ).toEqual(['completed a <- x | y | go on']);
});

test('a turn completes once, however often later requests repeat the history', () => {
  const history = goesOn('hello', 'thanks');
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: history, answer: 'welcome' }),
      interaction({ id: 'c', messages: [...history, assistant('welcome'), user('bye')], answer: 'bye' }),
      interaction({ id: 'd', messages: hi, answer: 'hello', session: 'chat-a' }), // a late twin stays open
      interaction({
        id: 'e',
        messages: [...history, assistant('welcome'), user('bye'), assistant('bye'), user('!')],
        answer: '?',
      }),
    ]),
  ).toEqual(['completed a <- thanks', 'completed b <- bye', 'completed c <- !']);
});

test('an edited history is a branch: each answer gets the words after it', () => {
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: goesOn('hello', 'one'), answer: 'first' }),
      interaction({ id: 'c', messages: goesOn('hello', 'two'), answer: 'second' }),
      interaction({
        id: 'd',
        messages: [...goesOn('hello', 'two'), assistant('second'), user('x')],
        answer: 'y',
      }),
      interaction({
        id: 'e',
        messages: [...goesOn('hello', 'one'), assistant('first'), user('z')],
        answer: 'w',
      }),
    ]),
  ).toEqual(['completed a <- one', 'completed c <- x', 'completed b <- z']);
});

test('a continuation that arrived first completes its parent on arrival', () => {
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' }),
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual(['completed a <- thanks']);
  expect(emitted[0]?.data).toMatchObject({ session: 'chat-b', sessionBy: 'continued', from: 'b', by: 'a' });
});

test('an explicit session outranks content; a pinned version shows next states but is no turn', () => {
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer: 'hello', session: 's1' }),
      interaction({ id: 'b', messages: goesOn('hello', 'ok'), answer: 'base', session: 's1', live: false }),
      sessionEnded({ id: 'e' }, 's1'),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual(['completed a <- ok', 'closed s1']);
  expect(emitted[0]?.data).toMatchObject({ session: 's1', sessionBy: 'explicit', from: 'b' });
});

test('in a lane with thousands of turns, an event reads and changes only a few rows', () => {
  const events = Array.from({ length: 3000 }, (_, i) =>
    interaction({ id: `i${i}`, messages: [user(`question ${i}`)], answer: `answer ${i}` }),
  );
  const { rows } = runFold(attribute, events, {});
  const laneRows = rows.get('lane')!;
  let scans = 0;
  const entries = (prefix: string) => {
    scans += 1;
    return laneRows.entries(prefix);
  };
  const watched = { get: laneRows.get, entries };
  const next = interaction({
    id: 'next',
    messages: [user('question 7'), assistant('answer 7'), user('thanks')],
    answer: 'x',
  });
  const { changes } = attribute.on(watched, next, { partition: 0, offset: 3000 }, {});
  expect(scans).toBe(0);
  expect(changes.length).toBeLessThan(16);
  expect(Math.max(...changes.map(({ row }) => JSON.stringify(row ?? '').length))).toBeLessThan(600);
});
