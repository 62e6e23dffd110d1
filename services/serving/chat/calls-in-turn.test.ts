import { expect, test } from 'vitest';
import type { AnswerChunk } from '../engine/engine.ts';
import { callsInTurn } from './calls-in-turn.ts';

const part = (id: string, given: string, name?: string): Partial<AnswerChunk> => ({
  callParts: [{ id, arguments: given, ...(name === undefined ? {} : { name }) }],
});
const whole = (id: string, given: string) =>
  ({ id, type: 'function', function: { name: 'exec', arguments: given } }) as const;

/** One word for each piece, by chunk; the last list is what waited until the end. */
function tell(...chunks: readonly Partial<AnswerChunk>[]) {
  const inTurn = callsInTurn();
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

test('calls that come one after the other are told as they come', () => {
  const [a, b] = [
    [part('a', '{"x"', 'exec'), part('a', ':{}}')],
    [part('b', '{}', 'exec'), part('b', '\n')],
  ];
  expect(tell({ text: 'so' }, ...a, ...b, { text: 'and' })).toEqual([
    ...['so', 'a:{"x"', 'a::{}}', 'b:{}', 'b:\n', 'and', ''],
  ]);
});

test('of calls that come side by side each is whole before the next one begins', () => {
  const told = tell(
    part('a', '{"x"', 'exec'),
    part('b', '{"y"', 'exec'),
    { text: 'Hm', reasoning: 'so' },
    part('c', '{', 'exec'),
    part('b', ':2}'),
    part('a', ':1}'),
    part('c', '}'),
    { toolCalls: [whole('a', ''), whole('b', ''), whole('c', ''), whole('d', '')] },
  );
  expect(told).toEqual([
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

test('what never becomes whole keeps nothing back', () => {
  expect(tell(part('a', '{"x"', 'exec'), part('b', '{"y"', 'exec'), part('a', ':'), { text: 'so' })).toEqual([
    ...['a:{"x"', '', 'a::', '', 'b:{"y" so'],
  ]);
  const calls = { toolCalls: [whole('a', 'ls'), whole('b', '2')] };
  expect(tell(part('a', 'l', 'exec'), part('b', '2', 'exec'), part('a', 's'), calls)).toEqual([
    ...['a:l', '', 'a:s', 'a! b:2 b!', ''],
  ]);
});

test('a whole call is told once more by nobody: what comes after it is left out', () => {
  const told = tell(part('a', '{}', 'exec'), part('b', '{', 'exec'), part('a', '{}'), part('b', '}'));
  expect(told).toEqual(['a:{}', 'b:{', '', 'b:}', '']);
});
