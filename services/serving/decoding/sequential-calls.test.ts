import { expect, test } from 'vitest';
import { defined } from '../../../shared/lang/defined.ts';
import type { AnswerChunk } from '../generation.ts';
import { sequentialCalls } from './sequential-calls.ts';

const part = (id: string, given: string, name?: string): Partial<AnswerChunk> => ({
  callParts: [{ id, arguments: given, ...defined({ name }) }],
});
const whole = (id: string, given: string) =>
  ({ id, type: 'function', function: { name: 'exec', arguments: given } }) as const;

/** One word per piece, by chunk; the last list has the pieces that were withheld until the end. */
function send(...chunks: readonly Partial<AnswerChunk>[]) {
  const inTurn = sequentialCalls();
  const words = (pieces: readonly AnswerChunk[]) =>
    pieces
      .flatMap(({ text, reasoning, callParts = [], toolCalls = [] }) => [
        ...(reasoning === undefined ? [] : [`(${reasoning})`]),
        ...(text === '' ? [] : [text]),
        ...callParts.map(({ id, arguments: given }) => `${id}:${given}`),
        ...toolCalls.map(({ id }) => `${id}!`),
      ])
      .join(' ');
  return [
    ...chunks.map((chunk) => words(inTurn.next({ text: '', tokens: [], ...chunk }))),
    words(inTurn.rest()),
  ];
}

test('calls that follow one another are sent as they arrive', () => {
  const [a, b] = [
    [part('a', '{"x"', 'exec'), part('a', ':{}}')],
    [part('b', '{}', 'exec'), part('b', '\n')],
  ];
  expect(send({ text: 'so' }, ...a, ...b, { text: 'and' })).toEqual([
    'so',
    'a:{"x"',
    'a::{}}',
    'b:{}',
    'b:\n',
    'and',
    '',
  ]);
});

test('calls that arrive side by side are sent one after the other', () => {
  const sent = send(
    part('a', '{"x"', 'exec'),
    part('b', '{"y"', 'exec'),
    { text: 'Hm', reasoning: 'so' },
    part('c', '{', 'exec'),
    part('b', ':2}'),
    part('a', ':1}'),
    part('c', '}'),
    { toolCalls: [whole('a', ''), whole('b', ''), whole('c', ''), whole('d', '')] },
  );
  expect(sent).toEqual([
    'a:{"x"',
    '',
    '',
    '',
    '',
    'a::1} b:{"y" b::2} (so) Hm c:{',
    'c:}',
    'a! b! c! d!',
    '',
  ]);
});

test('a call that is never complete withholds nothing in the end', () => {
  expect(send(part('a', '{"x"', 'exec'), part('b', '{"y"', 'exec'), part('a', ':'), { text: 'so' })).toEqual([
    'a:{"x"',
    '',
    'a::',
    '',
    'b:{"y" so',
  ]);
  const calls = { toolCalls: [whole('a', 'ls'), whole('b', '2')] };
  expect(send(part('a', 'l', 'exec'), part('b', '2', 'exec'), part('a', 's'), calls)).toEqual([
    'a:l',
    '',
    'a:s',
    'a! b:2 b!',
    '',
  ]);
});

test('parts that arrive after a complete call are dropped', () => {
  const sent = send(part('a', '{}', 'exec'), part('b', '{', 'exec'), part('a', '{}'), part('b', '}'));
  expect(sent).toEqual(['a:{}', 'b:{', '', 'b:}', '']);
});
