import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { attribute } from './attribute.ts';
import {
  assistant,
  callsTool,
  feedback,
  interaction,
  sessionEnded,
  system,
  timeAt,
  toolResult,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const told = (events: readonly ClawLoopEvent[]) => runFold(attribute, events, {}).emitted.map(brief);
const hi = [user('hi')];
const goesOn = (answer: string, words: string) => [...hi, assistant(answer), user(words)];

test('what a person says next completes the turn, with its tokens and the messages that it answered', () => {
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
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: hi, answer: 'hey' }),
      interaction({ id: 'c', messages: goesOn('hey', 'thanks'), answer: 'welcome' }),
    ]),
  ).toEqual(['completed b <- thanks', 'skipped a: superseded']);
});

test('of the choices of one request, in the midst of a chat, the one that it goes on from is the turn', () => {
  const asked = [...goesOn('hello', 'thanks'), assistant('welcome'), user('and now?')];
  const choices = [
    interaction({ id: 'b-2', messages: asked, answer: 'sleep' }),
    interaction({ id: 'b-1', messages: asked, answer: 'read' }),
    interaction({ id: 'b', messages: asked, answer: 'walk' }),
  ];
  const next = [...asked, assistant('read'), user('which book?')];
  expect(told([...choices, interaction({ id: 'c', messages: next, answer: 'any' })])).toEqual([
    'completed b-1 <- which book?',
    'skipped b-2: superseded',
    'skipped b: superseded',
  ]);
});

test('of equal answers the latest is kept', () => {
  expect(
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: hi, answer: 'hello' }),
      interaction({ id: 'c', messages: goesOn('hello', 'thanks'), answer: 'welcome' }),
    ]),
  ).toEqual(['completed b <- thanks', 'skipped a: superseded']);
});

test('a new chat that begins like an old one is a session of its own once the old one went on', () => {
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
    told([
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
    told([
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

test('an edited history is a branch: each answer gets the words that followed it', () => {
  expect(
    told([
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

test('a continuation that overtook its parent completes it as soon as the parent arrives', () => {
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

test('an explicit session outranks content, and a pinned version shows next states but makes no turn', () => {
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

test('feedback waits for the next state and follows its turn', () => {
  expect(
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      feedback({ id: 'f' }, 'a', -1),
      interaction({ id: 'b', messages: goesOn('hello', 'shorter, please'), answer: 'hey' }),
      feedback({ id: 'g' }, 'a', 1),
    ]),
  ).toEqual(['completed a <- shorter, please', 'feedback a: -1', 'feedback a: 1']);
});

test('feedback that overtook its interaction is held; that of another access key is not', () => {
  expect(
    told([
      feedback({ id: 'f' }, 'a', 1),
      feedback({ id: 'g', key: 'other' }, 'a', -1),
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      sessionEnded({ id: 'e' }, 'chat-a'),
    ]),
  ).toEqual(['completed a <- ', 'feedback a: 1', 'closed chat-a']);
});

test('at the end of a session an open turn is skipped by name', () => {
  expect(
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello', session: 's' }),
      interaction({ id: 'b', messages: [user('other')], answer: 'x', session: 's', settle: 'reward' }),
      sessionEnded({ id: 'e' }, 's'),
    ]),
  ).toEqual(['skipped a: no-next-state', 'skipped b: no-reward', 'closed s']);
});

test('a session that its client takes back trains by no turn, rewarded or not', () => {
  expect(
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello', session: 's', settle: 'reward' }),
      interaction({ id: 'b', messages: [user('other')], answer: 'x', session: 's', settle: 'reward' }),
      feedback({ id: 'f' }, 'b', 1),
      sessionEnded({ id: 'e' }, 's', { discard: true }),
    ]),
  ).toEqual(['skipped a: discarded', 'skipped b: discarded', 'closed s']);
});

test('an idle timer that is out of date ends nothing', () => {
  const events = [
    interaction({ id: 'a', messages: hi, answer: 'hello', session: 's' }),
    feedback({ id: 'f' }, 'a', 1),
  ];
  expect(told([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'a', last: 'a' })])).toEqual([]);
  expect(told([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'x', last: 'f' })])).toEqual([]);
  expect(told([...events, sessionEnded({ id: 'e' }, 's', { epoch: 'a', last: 'f' })]).at(-1)).toBe(
    'closed s',
  );
});

test('a reply after the end begins a new epoch of the session and is no evidence for the turn before', () => {
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

test('a copy counts once; what comes more than a day behind its lane is never attributed', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const day = 24 * 60;
  expect(told([a, a, interaction({ id: 'b', at: day + 1, messages: [user('x')], answer: 'y' }), a])).toEqual(
    [],
  );
  expect(
    told([
      interaction({ id: 'b', at: day + 1, messages: [user('x')], answer: 'y' }),
      a,
      interaction({ id: 'c', messages: hi, answer: 'z', live: false }),
    ]),
  ).toEqual(['skipped a: too-late']);
});

test('a closed session is forgotten a day later, and a late copy of its turn is too late, not new', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const { emitted, rows } = runFold(
    attribute,
    [
      a,
      feedback({ id: 'f' }, 'a', 1),
      sessionEnded({ id: 'e' }, 'chat-a'),
      interaction({ id: 'b', at: 2 * 24 * 60, messages: [user('x')], answer: 'y', session: 'later' }),
      a,
    ],
    {},
  );
  expect(emitted.map(brief).at(-1)).toBe('skipped a: too-late');
  const left = [...rows.get('lane')!.entries('')].map(([key]) => key);
  expect(left.filter((key) => /\/a$|chat-a|\/f$|\/e$/.test(key))).toEqual([]);
});

test('a lane that rested is forgotten but for its time, and what came before is too late, not new', () => {
  const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
  const over = [a, feedback({ id: 'f' }, 'a', 1), sessionEnded({ id: 'e' }, 'chat-a')];
  const forgotten = (at: number) =>
    LaneForgotten.create({
      ...{ id: `forgotten-${at}`, source: 'test', time: timeAt(9999) },
      data: { lane: 'lane', last: timeAt(at) },
    });
  const keysAfter = (events: readonly ClawLoopEvent[]) =>
    [...runFold(attribute, events, {}).rows.get('lane')!.entries('')].map(([key]) => key);
  const whole = keysAfter(over);
  expect(keysAfter([...over, forgotten(0)])).toEqual(['lane/now']);
  expect(keysAfter([...over, forgotten(1)])).toEqual(whole); // it says what is out of date
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
    'skipped a: too-late',
    'skipped b: no-next-state',
    'closed chat-a',
  ]);
});

test('what was not answered whole, or not with tokens, does not train and says why', () => {
  const one = (id: string, more: object) => interaction({ id, messages: [user(id)], answer: 'x', ...more });
  expect(
    told([
      one('a', { finishReason: 'aborted' }),
      one('b', { disconnected: true }),
      one('c', { finishReason: 'length' }),
      one('d', { answer: '<think>hm</think> ' }),
      one('e', { tokens: null }),
      one('f', { untrainable: 'penalties' }),
      one('g', { untrainable: 'logprob-temperature' }),
      one('h', { tooLarge: true, messages: [] }),
      one('i', { turnType: 'side' }),
    ]),
  ).toEqual([
    'skipped a: aborted',
    'skipped b: aborted',
    'skipped c: truncated',
    'skipped d: empty',
    'skipped e: no-token-ids',
    'skipped f: penalties',
    'skipped g: logprob-temperature',
    'skipped h: too-large',
    'skipped i: side',
  ]);
});

test('agents that hand a conversation over, each with a system text of its own, are one main line', () => {
  const desk = system('You are the front desk.');
  const expert = system('Tell the weather of every city.');
  const called = [...hi, callsTool('transfer'), toolResult('the expert')];
  const looked = [...called, callsTool('weather'), toolResult('4 degrees')];
  const thanked = [...looked, assistant('cold'), user('thanks')];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: [desk, ...hi], answer: callsTool('transfer') }),
      interaction({ id: 'b', messages: [expert, ...called], answer: callsTool('weather') }),
      interaction({
        id: 'title',
        messages: [system('Name this chat.'), ...looked, user('?')],
        answer: 'Cold',
      }),
      interaction({ id: 'c', messages: [expert, ...looked], answer: 'cold' }),
      interaction({ id: 'd', messages: [desk, ...thanked], answer: 'welcome' }), // the desk again
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual([
    'completed a <- the expert',
    'skipped title: side',
    'completed b <- 4 degrees',
    'completed c <- thanks',
  ]);
});

test('a client that keeps what was said and drops calls and their results goes on in its session', () => {
  const looked = [...hi, callsTool('weather'), toolResult('4 degrees')];
  const asked = [...goesOn('cold', 'and tomorrow?'), callsTool('weather'), toolResult('5 degrees')];
  const later = [...goesOn('cold', 'and tomorrow?'), assistant('warmer'), user('thanks')];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer: callsTool('weather') }),
      interaction({ id: 'b', messages: looked, answer: 'cold' }),
      interaction({ id: 'c', messages: goesOn('cold', 'and tomorrow?'), answer: callsTool('weather') }),
      interaction({ id: 'd', messages: asked, answer: 'warmer' }),
      interaction({ id: 'e', messages: later, answer: 'welcome' }),
      interaction({
        id: 'f',
        messages: [...looked, assistant('cold'), user('and tomorrow?')],
        answer: 'warm',
      }),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual([
    'completed a <- 4 degrees',
    'completed b <- and tomorrow?',
    'completed c <- 5 degrees',
    'completed d <- thanks',
  ]);
  const sessions = emitted.map(({ data }) => 'session' in data && data.session);
  expect(new Set(sessions)).toEqual(new Set(['chat-a']));
});

test('the loop of a request beside the conversation stays beside it', () => {
  const main = [system('You are helpful.'), ...hi];
  const beside = [system('Review what was asked.'), ...goesOn('hello', 'was that kind?')];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: main, answer: 'hello' }),
      interaction({ id: 'b', messages: beside, answer: callsTool('read') }),
      interaction({ id: 'c', messages: [...beside, callsTool('read'), toolResult('x')], answer: 'fine' }),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual(['skipped b: side', 'skipped c: side']);
});

test('a request beside the conversation, with another system text, is side and completes nothing', () => {
  const main = [system('You are helpful.'), ...hi];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: main, answer: 'hello' }),
      interaction({ id: 'b', messages: [system('Name this chat.'), ...hi], answer: 'Greeting' }),
      interaction({ id: 'c', messages: [...main, assistant('hello'), user('thanks')], answer: 'x' }),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual(['skipped b: side', 'completed a <- thanks']);
  expect(emitted[0]?.data).toMatchObject({ rule: 'other-system', session: 'chat-a' });
});

test('heartbeats are no evidence: the turn waits for a person', () => {
  const beat = [...hi, assistant('hello'), user('[OpenClaw heartbeat poll]')];
  expect(
    told([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: beat, answer: 'NO_REPLY' }),
      interaction({ id: 'c', messages: goesOn('hello', 'thanks'), answer: 'x' }),
    ]),
  ).toEqual(['skipped b: side', 'completed a <- thanks']);
});

test('after a compaction the conversation goes on in the same session', () => {
  const trace = '00-11111111111111111111111111111111-2222222222222222-01';
  const summary = 'The user likes teal and asked for a walk plan.\nNothing else.';
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer: 'hello', traceparent: trace }),
      interaction({
        id: 'b',
        messages: [system('You are a context summarization assistant.'), user('<conversation>..')],
        answer: summary,
        traceparent: trace,
      }),
      interaction({
        id: 'c',
        messages: [
          user(`The conversation history before this point was compacted into this:\n\n${summary}`),
          user('and now?'),
        ],
        answer: 'x',
      }),
      sessionEnded({ id: 'e' }, 'chat-a'),
    ],
    {},
  );
  expect(emitted.map(brief)).toEqual([
    'skipped b: side',
    'skipped a: no-next-state',
    'skipped c: no-next-state',
    'closed chat-a',
  ]);
});

test('in a lane that holds thousands of turns an event changes and reads a handful of rows', () => {
  const events = Array.from({ length: 3000 }, (_, i) =>
    interaction({ id: `i${i}`, messages: [user(`question ${i}`)], answer: `answer ${i}` }),
  );
  const { rows } = runFold(attribute, events, {});
  const mine = rows.get('lane')!;
  let scans = 0;
  const entries = (prefix: string) => {
    scans += 1;
    return mine.entries(prefix);
  };
  const watched = { get: mine.get, entries };
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
