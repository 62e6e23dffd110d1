import { expect, test } from 'vitest';
import { reactionIn } from './reaction.ts';
import { assistant, tool, user } from './testing/events.ts';

const turn = (request: string, next: string) => ({
  messages: [user(request)],
  answer: assistant('Six minutes for a soft egg, ten minutes for a hard one.'),
  next: [user(next)],
});

test.each([
  ['How long do I boil an egg?', 'how long should I boil the egg?'],
  ['Explain tides to a child.', 'explain the tides, to a child'],
  ['¿Cuánto tiempo se hierve un huevo?', '¿cuánto tiempo se hierve el huevo?'],
  ['如何煮一个鸡蛋？', '如何煮鸡蛋？'],
])('%s - %s: a repeated request', (request, next) => {
  expect(reactionIn(turn(request, next))).toBe('asked-again');
});

test.each([
  ['What is the capital of Peru?', 'What is the capital of Chile?'],
  ['Wie entferne ich Rotweinflecken vom Teppich?', 'Wie entferne ich Tintenflecken vom Teppich?'],
  ['秘鲁的首都是哪里？', '智利的首都是哪里？'],
])('%s - %s: the same question about another thing says nothing', (request, next) => {
  expect(reactionIn(turn(request, next))).toBeUndefined();
});

test.each([
  'What is the capital of Peru?',
  'Write a poem about autumn leaves.',
  'Can you recommend a novel about Iceland?',
  'Wie wird eigentlich Papier hergestellt?',
])('%s: a new subject', (next) => {
  expect(reactionIn(turn('How long do I boil an egg?', next))).toBe('moved-on');
});

test.each([
  'That was a lot to read.',
  'Did you get paid by the word?',
  'Why did you write so much?',
  'Too long.',
  'thanks',
  'And how long for a duck egg?',
  'What is the right time for an egg?',
  'Could you not answer with a list?',
  'Você leu mesmo aquilo que escrevi ontem?',
  'Ça répond vraiment au problème posé hier ?',
])('%s: no plain reaction', (next) => {
  expect(reactionIn(turn('How long do I boil an egg?', next))).toBeUndefined();
});

test('a tool result or an empty next state is no reaction', () => {
  const one = turn('How long do I boil an egg?', 'What is the capital of Peru?');
  expect(reactionIn({ ...one, next: [tool('What is the capital of Peru?')] })).toBeUndefined();
  expect(reactionIn({ ...one, next: [] })).toBeUndefined();
});

test('only part of a long text is read', () => {
  const long = `What is the capital of Peru? ${'a b c '.repeat(1_000_000)}`;
  expect(reactionIn(turn(long, long))).toBe('asked-again');
});
