import { expect, test } from 'vitest';
import { bare, bareFolder, earData, isOwn } from '../corpora/apart.ts';
import { people } from './people.ts';
import { demo } from './voices/demo.ts';
import type { Voice } from './voices/voice.ts';

/** Sessions by which each person has used every voice and every taste. */
const sessions = [1, 2, 4, 26, 60];
/** Everybody's words but the demo's, which are the phrases that the rules of the judge list. */
const voices: ReadonlyMap<Voice, string> = new Map(
  people
    .flatMap(({ name, voice }) => sessions.map((session) => [voice(session), name] as const))
    .filter(([voice]) => voice !== demo),
);
const sentencesOf = ({ complaints, praise }: Voice) => [...Object.values(complaints).flat(), ...praise];

test('there are at least twenty people, with unique names', () => {
  expect(people.length).toBeGreaterThanOrEqual(20);
  expect(new Set(people.map(({ name }) => name)).size).toBe(people.length);
});

test.each([...voices].map(([voice, name]) => [name, voice] as const))(
  '%s has many phrases, each only once',
  (_, voice) => {
    const all = sentencesOf(voice);
    expect(all.length).toBeGreaterThanOrEqual(25);
    expect(new Set(all).size).toBe(all.length);
    for (const ways of Object.values(voice.complaints)) expect(ways.length).toBeGreaterThanOrEqual(4);
  },
);

test('each person who speaks has words for every possible fault', () => {
  const answers = ['Hello! Take it.', '- a', 'Take it. Take care!', 'One. Two.', 'Take a map.'];
  for (const { way, taste, voice } of people.filter((one) => one.way === 'words'))
    for (const session of sessions)
      for (const fault of answers.flatMap(taste(session).faults))
        expect(voice(session).complaints[fault], `${way}: ${fault}`).toBeDefined();
});

test('the training data of the ear contains no sentence of these people', () => {
  const trained = bareFolder(earData);
  const all = [...voices.keys()].flatMap(sentencesOf);
  expect(all.filter((text) => isOwn(text) && trained.includes(bare(text)))).toEqual([]);
});
