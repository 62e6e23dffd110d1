import { expect, test } from 'vitest';
import { addsPassage, firstWords, headOf, mayShareTemplate } from './first-words.ts';

const adds = (earlier: string, later: string, answer = 'Here is what I found about that.') =>
  addsPassage({ words: firstWords(earlier) ?? [], head: headOf(answer) }, later);

test.each([
  ['Tell me about moss.', 'Tell me about moss in one line.'],
  ['How do I boil an egg?', 'How do I boil an egg? Answer briefly, without a list.'],
  ['Write a poem about the sea', 'Write a funny and short poem about the sea'],
  ['write an email to my landlord', 'write an email to my landlord, and keep it polite please'],
  ['Erzähl mir etwas über Moos.', 'Erzähl mir etwas über Moos, aber bitte ohne Liste.'],
  ["What's the capital of Peru?", 'What’s the capital of Peru, in one word'],
  ['मुझे काई के बारे में बताओ', 'मुझे काई के बारे में बताओ बहुत कम शब्दों में'],
])('a passage that a person added is recognised: %s', (earlier, later) => {
  expect(adds(earlier, later)).toBe(true);
});

test.each([
  ['another value', 'Tell me about moss.', 'Tell me about ferns.'],
  ['another value, and more of it', 'Write to Anna today', 'Write to Bob and his wife today'],
  ['the same words', 'Tell me about moss.', 'tell me  about moss'],
  ['a longer name', 'Write a letter to Anna', 'Write a letter to Anna Maria Smith'],
  ['a longer number', 'Describe the iPhone', 'Describe the iPhone 15 Pro Max'],
  ['more names', 'Write a card to Anna', 'Write a card to Anna and Bob and Carl'],
  ['more numbers', 'Describe room 17', 'Describe room 17 and 18 and 19'],
  ['one word, which may be a value', 'Describe an oak table', 'Describe an oak table round'],
  ['a longer field', 'Translate to French: good morning', 'Translate to French: good morning to you all'],
  ['a longer quotation', 'Translate "good morning" for me', 'Translate "good morning to you all" for me'],
  ['a longer text below', 'Shorten this text\n\nthe cat sat', 'Shorten this text\n\nthe cat sat on a mat'],
  ['another field', 'Tell me about moss', 'Tell me about moss; context: it is green'],
  ['words here and there', 'how to fix a car', 'how do I learn to fix the brakes of a car'],
  ['a prompt around it', 'Tell me about moss', 'Find a short title for tell me about moss'],
  ['fewer words', 'Tell me about moss in one line.', 'Tell me about moss.'],
  ['too few words to decide', 'hi there', 'hi there my good friend'],
  ['far more words', 'Tell me about moss', `Tell me about moss ${'and so on '.repeat(6)}`],
])('%s is not an edit', (_, earlier, later) => {
  expect(adds(earlier, later)).toBe(false);
});

test('a request that repeats the answer contains its own history', () => {
  const later = 'Go on with this story moss is green and it grows';
  expect(adds('Go on with this story', later, 'Moss is green.')).toBe(false);
  expect(adds('Go on with this story', later, 'Once there was a fern.')).toBe(true);
  expect(adds('Go on with this story', later, '')).toBe(false);
});

test('messages of one template are alike', () => {
  const alike = (one: string, other: string) =>
    mayShareTemplate(firstWords(one) ?? [], firstWords(other) ?? []);
  expect(alike('Describe the product oak chair', 'Describe the product glass bottle, blue')).toBe(true);
  expect(alike('Is moss a plant or an animal?', 'Is yeast a plant or an animal?')).toBe(true);
  expect(alike('Tell me about moss.', 'How do I boil an egg?')).toBe(false);
});

test('long texts are not compared', () => {
  expect(firstWords('word '.repeat(65))).toBeUndefined();
  expect(firstWords('x'.repeat(1001))).toBeUndefined();
  expect(adds('Tell me about moss', `Tell me about moss please do ${' '.repeat(2000)}`)).toBe(false);
});
