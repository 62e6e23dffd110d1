import { expect, test } from 'vitest';
import { unitsOf } from './features.ts';
import { hearWords } from './hear-words.ts';
import { hear } from './model.ts';
import { openEar } from './open-ear.ts';
import { thresholdsOfBoth } from './thresholds.ts';

const ear = await openEar();
const alone = (words: string) => hear(ear.traits, unitsOf(words));

test.each([
  ['english', 'my tea went cold before I got to the end of that'],
  ['others', 'Das war mir viel zu lang.'],
  ['others', 'trop long'],
  ['others', '太长了，没看完'],
  ['others', '長すぎて読めない'],
  ['others', 'Demasiado largo, la verdad'],
] as const)('the encoder changes what is heard in %s: %s', (language, words) => {
  const { heard, thresholds } = hearWords(ear, words)!;
  expect(thresholds).toBe(thresholdsOfBoth[language]);
  expect(heard.bad).not.toBeCloseTo(alone(words)!.bad, 3);
  expect(heard.sentences).toEqual(alone(words)!.sentences);
});

test('in a script that the encoder has not learned the traits alone are heard', () => {
  const words = 'Слишком длинно, too long';
  expect(hearWords(ear, words)).toEqual({ heard: alone(words), thresholds: ear.thresholds });
});

test('words that are plainly about something else, or too long, are left to the traits', () => {
  const plain = 'What is the capital of Peru?';
  const long = `${'I have been thinking about the garden again, and the roses. '.repeat(12)}Too long.`;
  for (const words of [plain, long])
    expect(hearWords(ear, words)).toEqual({ heard: alone(words), thresholds: ear.thresholds });
});

test('no words, nothing heard', () => {
  expect(hearWords(ear, '')).toBeUndefined();
});
