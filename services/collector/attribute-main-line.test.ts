import { expect, test } from 'vitest';
import { attribute } from './attribute.ts';
import {
  assistant,
  callsTool,
  interaction,
  sessionEnded,
  system,
  toolResult,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { emittedLines, goesOn, hi } from './testing/short-chat.ts';

test('incomplete answers and answers without tokens are skipped with a reason', () => {
  const answered = (id: string, more: object) =>
    interaction({ id, messages: [user(id)], answer: 'x', ...more });
  expect(
    emittedLines([
      answered('a', { finishReason: 'aborted' }),
      answered('b', { disconnected: true }),
      answered('c', { finishReason: 'length' }),
      answered('d', { answer: '<think>hm</think> ' }),
      answered('e', { tokens: null }),
      answered('f', { untrainable: 'penalties' }),
      answered('g', { untrainable: 'logprob-temperature' }),
      answered('h', { tooLarge: true, messages: [] }),
      answered('i', { turnType: 'side' }),
      answered('j', { finishReason: 'content_filter' }),
      answered('k', { engineFinishReason: 'repetition', untrainable: 'unknown-finish-reason' }),
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
    'skipped j: aborted',
    'skipped k: unknown-finish-reason',
  ]);
});

test('agents with different system texts that hand over a conversation are one main line', () => {
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

test('a client that drops tool calls and results stays in its session', () => {
  const looked = [...hi, callsTool('weather'), toolResult('4 degrees')];
  const history = [...goesOn('cold', 'and tomorrow?'), callsTool('weather'), toolResult('5 degrees')];
  const later = [...goesOn('cold', 'and tomorrow?'), assistant('warmer'), user('thanks')];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer: callsTool('weather') }),
      interaction({ id: 'b', messages: looked, answer: 'cold' }),
      interaction({ id: 'c', messages: goesOn('cold', 'and tomorrow?'), answer: callsTool('weather') }),
      interaction({ id: 'd', messages: history, answer: 'warmer' }),
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

test('a tool loop of a side request stays a side request', () => {
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

test('a request with another system text is a side request and completes nothing', () => {
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

test('heartbeats are not evidence: the turn waits for a person', () => {
  const beat = [...hi, assistant('hello'), user('[OpenClaw heartbeat poll]')];
  expect(
    emittedLines([
      interaction({ id: 'a', messages: hi, answer: 'hello' }),
      interaction({ id: 'b', messages: beat, answer: 'NO_REPLY' }),
      interaction({ id: 'c', messages: goesOn('hello', 'thanks'), answer: 'x' }),
    ]),
  ).toEqual(['skipped b: side', 'completed a <- thanks']);
});

test('after a compaction the conversation continues in the same session', () => {
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
