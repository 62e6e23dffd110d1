import { expect, test } from 'vitest';
import { signalsOf } from './testing/hear.ts';

test.each([
  'That is wrong.',
  'I do not like this answer.',
  'I do not like it.',
  'Are you sure?',
  'Ugh, still the same error.',
  'No, that is not what I wanted.',
  'That is not what I asked.',
  'Not helpful at all.',
  'Try again.',
  'Please fix it.',
  'I told you.',
  'I asked you twice already.',
  'You did not follow my instructions.',
  'How many times do I have to say it?',
])('a complaint without a wish gives no hint: %s', (words) => {
  expect(signalsOf(words)).toMatchObject({ vote: -1 });
  expect(signalsOf(words).hint).toBeUndefined();
});

test.each([
  ['Too long', 'A short answer, please.'],
  ['Shorter.', 'A short answer, please.'],
  ['No lists', 'No lists, please.'],
  ['More detail', 'More details, please.'],
  ['Why the list?', 'No lists, please.'],
  ['Another list?', 'No lists, please.'],
  ['Why do you always apologise?', 'Please do not apologise.'],
  ['Did I not say use bullet points?', 'Please use bullet points.'],
  ['What part of no lists do you not understand?', 'No lists, please.'],
  ['I want neither lists nor a greeting.', 'No lists, please. No greeting, please.'],
  ['Use a list and skip the greeting.', 'Please use bullet points. No greeting, please.'],
  ['A list without a greeting, please.', 'Please use bullet points. No greeting, please.'],
  ['Write plain prose instead of a list.', 'No lists, please.'],
  ['No greeting, please. Just answer.', 'No greeting, please.'],
  ['That is too long. One short sentence, please.', 'One short sentence, please.'],
  ['one sentence is enough', 'One short sentence, please.'],
  ['Could you be less formal?', 'Please be casual.'],
  ['In German please.', 'Please answer in German.'],
])('a known wish becomes its standard text, however short it was: %s', (words, hint) => {
  expect(signalsOf(words)).toMatchObject({ vote: -1, hint });
});

test.each(['No, I meant Paris in Texas.', 'Actually, it should be 7.', 'No lists, use a table instead.'])(
  'an unknown wish becomes the sentence of the person: %s',
  (words) => {
    expect(signalsOf(words)).toMatchObject({ vote: -1, hint: words });
  },
);

test('a hint contains the wish without the complaint beside it', () => {
  expect(signalsOf('That is wrong. No lists, please.').hint).toBe('No lists, please.');
});
