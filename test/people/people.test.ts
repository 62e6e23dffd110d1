import { expect, test } from 'vitest';
import { bare, bareFolder, earData, isOwn } from '../corpora/apart.ts';
import { people } from './people.ts';
import { direct, indirect, polite, sarcastic, terse } from './voices/english.ts';
import { nonNative } from './voices/non-native.ts';
import { chinese, french, german, spanish } from './voices/other-languages.ts';
import { directToo, indirectToo, sarcasticToo } from './voices/second-author.ts';
import { germanToo } from './voices/second-author-german.ts';
import { indirectAgain, nonNativeAgain, politeAgain, sarcasticAgain } from './voices/third-author.ts';
import {
  chineseToo,
  frenchToo,
  japaneseToo,
  portugueseToo,
  spanishToo,
} from './voices/third-author-languages.ts';
import type { Voice } from './voices/voice.ts';

const voices = {
  direct,
  indirect,
  nonNative,
  polite,
  sarcastic,
  terse,
  chinese,
  french,
  german,
  spanish,
  directToo,
  germanToo,
  indirectToo,
  sarcasticToo,
  chineseToo,
  frenchToo,
  japaneseToo,
  portugueseToo,
  spanishToo,
  indirectAgain,
  nonNativeAgain,
  politeAgain,
  sarcasticAgain,
};
const sentencesOf = ({ complaints, praise }: Voice) => [...Object.values(complaints).flat(), ...praise];

test('there are at least twenty people, with unique names', () => {
  expect(people.length).toBeGreaterThanOrEqual(20);
  expect(new Set(people.map(({ name }) => name)).size).toBe(people.length);
});

test.each(Object.entries(voices))('%s has many phrases, each only once', (_, voice) => {
  const all = sentencesOf(voice);
  expect(all.length).toBeGreaterThanOrEqual(25);
  expect(new Set(all).size).toBe(all.length);
  for (const ways of Object.values(voice.complaints)) expect(ways.length).toBeGreaterThanOrEqual(4);
});

test('each person who speaks has words for every possible fault', () => {
  const answers = ['Hello! Take it.', '- a', 'Take it. Take care!', 'One. Two.', 'Take a map.'];
  for (const { way, taste, voice } of people.filter((one) => one.way === 'words'))
    for (const session of [1, 4, 26, 60])
      for (const fault of answers.flatMap(taste(session).faults))
        expect(voice(session).complaints[fault], `${way}: ${fault}`).toBeDefined();
});

test('the training data of the ear contains no sentence of these people', () => {
  const trained = bareFolder(earData);
  const all = Object.values(voices).flatMap(sentencesOf);
  expect(all.filter((text) => isOwn(text) && trained.includes(bare(text)))).toEqual([]);
});
