import { bareList, kindWords, matterOfFact, namedSource, oneSentence, type Taste } from './tastes.ts';
import { demo } from './voices/demo.ts';
import { direct, indirect, polite, sarcastic, terse } from './voices/english.ts';
import { nonNative } from './voices/non-native.ts';
import { chinese, french, german, spanish } from './voices/other-languages.ts';
import { directToo, indirectToo, sarcasticToo } from './voices/second-author.ts';
import { germanToo } from './voices/second-author-german.ts';
import { nonNativeAgain, politeAgain } from './voices/third-author.ts';
import { chineseToo, japanese } from './voices/third-author-east-asian.ts';
import { indirectAgain, sarcasticAgain } from './voices/third-author-indirect.ts';
import { frenchToo, portuguese, spanishToo } from './voices/third-author-romance.ts';
import type { Voice } from './voices/voice.ts';

/**
 * The reaction of a person to an answer. `words`: complains in words, up to three times. `thumbs`: rates each answer
 * and says nothing. `regenerates`: asks for another answer. `leaves`: ends the chat. `rephrases`, `repeats`: sends the
 * same question again. After a right answer, all except `words` continue with another question.
 */
export type Way = 'words' | 'thumbs' | 'regenerates' | 'leaves' | 'rephrases' | 'repeats';

export type Person = {
  readonly name: string;
  readonly way: Way;
  /** by session, from 1 */
  readonly taste: (session: number) => Taste;
  readonly voice: (session: number) => Voice;
  /** tastes that measure held-out answers */
  readonly measured: readonly Taste[];
  /** requests in one chat */
  readonly requests: number;
  /** share of wrong verdicts */
  readonly wrong: number;
  /** says something about a right answer; otherwise goes on with a message that says nothing about it */
  readonly praises: boolean;
  /** also rejects answers without the requested content */
  readonly wantsContent: boolean;
  /** the result of a tool precedes each answer */
  readonly usesTools: boolean;
};

type Traits = Partial<Person> & { readonly name: string };

const person = (voice: Voice, taste: Taste, traits: Traits): Person => ({
  way: 'words',
  taste: () => taste,
  voice: () => voice,
  measured: [taste],
  requests: 1,
  wrong: 0,
  praises: true,
  wantsContent: false,
  usesTools: false,
  ...traits,
});

/** Changes to the next taste every so many sessions; the last one stays. */
const inTurn =
  (every: number, tastes: readonly Taste[]) =>
  (session: number): Taste =>
    tastes[Math.min(tastes.length - 1, Math.floor((session - 1) / every))]!;

const alternating =
  <Of>(every: number, all: readonly Of[]) =>
  (session: number): Of =>
    all[Math.floor((session - 1) / every) % all.length]!;

const spoken: readonly Person[] = [
  person(demo, matterOfFact, { name: 'phrases of the demo' }),
  person(direct, matterOfFact, { name: 'direct' }),
  person(direct, oneSentence, { name: 'direct: one sentence' }),
  person(direct, bareList, { name: 'direct: bare list' }),
  person(indirect, matterOfFact, { name: 'indirect' }),
  person(indirect, oneSentence, { name: 'indirect: one sentence' }),
  person(sarcastic, matterOfFact, { name: 'sarcastic' }),
  person(polite, matterOfFact, { name: 'polite' }),
  person(terse, matterOfFact, { name: 'terse' }),
  person(german, matterOfFact, { name: 'German' }),
  person(spanish, matterOfFact, { name: 'Spanish' }),
  person(chinese, matterOfFact, { name: 'Chinese' }),
  person(french, matterOfFact, { name: 'French' }),
  person(nonNative, matterOfFact, { name: 'non-native English' }),
  person(directToo, matterOfFact, { name: 'direct (second author)' }),
  person(indirectToo, matterOfFact, { name: 'indirect (second author)' }),
  person(sarcasticToo, matterOfFact, { name: 'sarcastic (second author)' }),
  person(germanToo, matterOfFact, { name: 'German (second author)' }),
  person(nonNativeAgain, matterOfFact, { name: 'non-native English (third author)' }),
  person(indirectAgain, matterOfFact, { name: 'indirect (third author)' }),
  person(sarcasticAgain, matterOfFact, { name: 'sarcastic (third author)' }),
  person(politeAgain, matterOfFact, { name: 'polite (third author)' }),
  person(spanishToo, matterOfFact, { name: 'Spanish (third author)' }),
  person(chineseToo, matterOfFact, { name: 'Chinese (third author)' }),
  person(frenchToo, matterOfFact, { name: 'French (third author)' }),
  person(portuguese, matterOfFact, { name: 'Portuguese' }),
  person(japanese, matterOfFact, { name: 'Japanese' }),
];

const silent: readonly Person[] = [
  person(direct, matterOfFact, { name: 'thumbs only', way: 'thumbs', requests: 2 }),
  person(direct, matterOfFact, { name: 'regenerates', way: 'regenerates', requests: 2 }),
  person(direct, matterOfFact, { name: 'leaves', way: 'leaves', requests: 2 }),
  person(direct, matterOfFact, { name: 'rephrases', way: 'rephrases', requests: 2 }),
  person(direct, matterOfFact, { name: 'repeats', way: 'repeats', requests: 2 }),
];

const difficult: readonly Person[] = [
  person(direct, matterOfFact, {
    name: 'changes their mind',
    taste: inTurn(20, [bareList, matterOfFact]),
  }),
  person(direct, matterOfFact, {
    name: 'changes their mind often',
    taste: alternating(25, [bareList, matterOfFact, oneSentence]),
    measured: [bareList, matterOfFact, oneSentence],
  }),
  person(direct, oneSentence, {
    name: 'contradicts themselves',
    taste: alternating(3, [oneSentence, bareList]),
    measured: [oneSentence, bareList],
  }),
  person(direct, namedSource, { name: 'wants what cannot be' }),
  person(direct, kindWords, { name: 'wants kind words' }),
  person(direct, matterOfFact, {
    name: 'two people at odds',
    taste: alternating(1, [matterOfFact, bareList]),
    voice: alternating(1, [direct, polite]),
    measured: [matterOfFact, bareList],
  }),
  person(direct, matterOfFact, { name: 'long chats', requests: 6 }),
  person(direct, matterOfFact, { name: 'uses tools', usesTools: true }),
  person(direct, matterOfFact, { name: 'is wrong now and then', wrong: 0.12 }),
  person(direct, matterOfFact, { name: 'never praises', praises: false, requests: 3 }),
  person(direct, oneSentence, { name: 'wants content too', wantsContent: true }),
];

export const people: readonly Person[] = [...spoken, ...silent, ...difficult];
