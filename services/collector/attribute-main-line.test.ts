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
import { goesOn, hi, told } from './testing/short-chat.ts';

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
      one('j', { finishReason: 'content_filter' }),
      one('k', { engineFinishReason: 'repetition', untrainable: 'unknown-finish-reason' }),
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
