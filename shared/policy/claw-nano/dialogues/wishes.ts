import { chance, pick, pickWeighted, type Random, shuffle } from './choose.ts';
import type { Wishes } from './style.ts';

/** Ways to say one wish: as the user to the assistant, or as a remark about the user. The last two are held out. */
type Wording = { readonly wishes: Wishes; readonly phrases: readonly string[] };

/** How many phrases at the end of each wording are kept out of training, to measure what was not seen. */
const heldOutPhrases = 2;

const single: readonly (Wording & { readonly weight: number })[] = [
  {
    weight: 4,
    wishes: { list: false },
    phrases: [
      'No lists, please.',
      'Please no lists.',
      'No list.',
      'Please do not use a list.',
      'Please do not use lists.',
      'I do not like lists.',
      'I do not want lists.',
      'Do not write lists.',
      'Never use lists.',
      'Stop using lists.',
      'Without a list, please.',
      'No bullet points, please.',
      'Please no bullet points.',
      'Do not use bullet points or numbers.',
      'Write in plain sentences.',
      'Please answer in full sentences, not in a list.',
      'Write plain prose instead of a list.',
      'Use sentences, not bullet points.',
      'Just a plain text, no list please.',
      'The user does not want lists.',
      'The user wants plain sentences without a list.',
      'The answer should not be a list.',
      'Avoid lists.',
      'Avoid lists and write sentences.',
      "Please don't use lists.",
      "I don't like lists.",
      'Could you answer without a list?',
      'Please skip the list.',
      'I would rather not get a list.',
    ],
  },
  {
    weight: 4,
    wishes: { greeting: false },
    phrases: [
      'No greeting, please.',
      'Please no greeting.',
      'Please skip the greeting.',
      'Skip the greeting.',
      'Please do not greet me.',
      'Do not greet me.',
      'Do not say hello.',
      'Never say hello.',
      'You do not need to say hello.',
      'No hello, please.',
      'Without a greeting, please.',
      'I do not like greetings.',
      'I do not want a greeting.',
      'Start with the answer.',
      'Start directly with the answer.',
      'Get straight to the point.',
      'Leave out the greeting.',
      'Stop greeting me.',
      'The user does not want a greeting.',
      'The user wants the answer without a greeting.',
      'The answer should not start with a greeting.',
      'Avoid greetings.',
      "Please don't greet me.",
      "Don't say hello.",
      'Answer without a greeting.',
      'There is no need for a greeting.',
      'Please drop the hello.',
    ],
  },
  {
    weight: 2,
    wishes: { list: true },
    phrases: [
      'As a list, please.',
      'Please use a list.',
      'Please make a list.',
      'I like lists.',
      'Use bullet points.',
      'Use bullet points, please.',
      'Always use lists.',
      'Answer with a list.',
      'Write it as a list.',
      'The user wants a list.',
      'The answer should be a list.',
      'Put it in a list, please.',
      'A list would be nice.',
    ],
  },
  {
    weight: 2,
    wishes: { greeting: true },
    phrases: [
      'Please say hello first.',
      'Say hello first.',
      'Greet me first.',
      'Start with a greeting.',
      'Always greet the user.',
      'I like a friendly greeting.',
      'The user likes a greeting.',
      'The answer should start with a greeting.',
      'Please greet me.',
      'Begin with a friendly hello.',
      'A greeting would be nice.',
    ],
  },
  {
    weight: 2,
    wishes: { long: false, closing: false },
    phrases: [
      'Keep it short.',
      'Keep it short, please.',
      'Please keep it short.',
      'Please be brief.',
      'Be brief.',
      'Be short and clear.',
      'Short answer, please.',
      'Just a short answer.',
      'Shorter, please.',
      'Answer in few words.',
      'That is too long.',
      'The user wants a short answer.',
      'The answer should be short.',
      'Short answers only.',
      'In a few words, please.',
      'A short answer is enough.',
    ],
  },
  {
    weight: 1,
    wishes: { long: true },
    phrases: [
      'More detail, please.',
      'Please give me more detail.',
      'Write a long answer.',
      'Please write more.',
      'A bit longer, please.',
      'That is too short.',
      'The user wants more detail.',
      'Tell me more.',
      'I like long answers.',
      'Please go into detail.',
    ],
  },
  {
    weight: 1,
    wishes: { closing: false },
    phrases: [
      'No closing line, please.',
      'Please no friendly words at the end.',
      'Stop after the answer.',
      'Do not add a closing line.',
      'No small talk at the end.',
      'The user does not want a closing line.',
      'Leave out the closing line.',
      'Please end without a closing line.',
    ],
  },
];

/** The two wishes that people have together most often, in one breath. */
const pairs: readonly (Wording & { readonly weight: number })[] = [
  {
    weight: 4,
    wishes: { list: false, greeting: false },
    phrases: [
      'No lists and no greeting, please.',
      'Please no lists and no greeting.',
      'No greeting and no lists, please.',
      'Please no greeting and no list.',
      'No list, no greeting.',
      'Do not use lists and do not greet me.',
      'Skip the greeting and do not use lists.',
      'Please skip the greeting and the list.',
      'Without a greeting and without lists, please.',
      'Plain sentences and no greeting, please.',
      'The user wants no lists and no greeting.',
      'The user wants plain sentences without a greeting.',
      'Start with the answer and write plain sentences.',
      'The answer should have no list and no greeting.',
      'Avoid lists and greetings.',
      'I want neither lists nor a greeting.',
      'Leave out the greeting and the bullet points.',
    ],
  },
  {
    weight: 1,
    wishes: { list: true, greeting: false },
    phrases: [
      'Use a list and skip the greeting.',
      'A list without a greeting, please.',
      'Just the list, please.',
      'The user wants only a list.',
      'Only the list, no hello.',
      'Give me the list and no greeting.',
    ],
  },
  {
    weight: 1,
    wishes: { list: false, long: false, closing: false },
    phrases: [
      'Keep it short and do not use lists.',
      'One short sentence, please.',
      'Short and without a list, please.',
      'The user wants one short sentence.',
      'Just one sentence, please.',
      'Short, and no lists.',
    ],
  },
  {
    weight: 1,
    wishes: { greeting: false, long: false, closing: false },
    phrases: [
      'Short and without a greeting, please.',
      'Be brief and skip the greeting.',
      'Only the answer, please.',
      'The user wants a short answer without a greeting.',
      'Keep it short, no hello.',
      'Short, and no greeting.',
    ],
  },
];

const wordings = [...single, ...pairs];

/** A wish in words, with what it asks for. */
export type Instruction = { readonly text: string; readonly wishes: Wishes };

const phrasesFor = (wording: Wording, kept: 'training' | 'held-out'): readonly string[] =>
  kept === 'training' ? wording.phrases.slice(0, -heldOutPhrases) : wording.phrases.slice(-heldOutPhrases);

const fits = (known: Wishes, wishes: Wishes): boolean =>
  Object.keys(wishes).every((trait) => known[trait as keyof Wishes] === undefined);

/** One instruction, or two or three that do not contradict each other. */
export function sampleInstruction(random: Random): Instruction {
  const weighted = wordings.map((wording) => [wording.weight, wording] as const);
  const first = pickWeighted(random, weighted);
  let wishes = first.wishes;
  const texts = [pick(random, phrasesFor(first, 'training'))];
  while (texts.length < 3 && chance(random, 0.25)) {
    const next = shuffle(random, single).find((wording) => fits(wishes, wording.wishes));
    if (next === undefined) break;
    wishes = { ...wishes, ...next.wishes };
    texts.push(pick(random, phrasesFor(next, 'training')));
  }
  return { text: texts.join(' '), wishes };
}

/** An instruction about lists or greetings: it makes sense before there is anything to shorten or to add to. */
export function sampleStandingInstruction(random: Random): Instruction {
  const standing = wordings.filter(
    ({ wishes }) => wishes.list !== undefined || wishes.greeting !== undefined,
  );
  const wording = pickWeighted(
    random,
    standing.map((each) => [each.weight, each] as const),
  );
  return { text: pick(random, phrasesFor(wording, 'training')), wishes: wording.wishes };
}

/** Every instruction of one sentence, either those of the training dialogues or those kept out of them. */
export const singleInstructions = (kept: 'training' | 'held-out'): readonly Instruction[] =>
  wordings.flatMap((wording) => phrasesFor(wording, kept).map((text) => ({ text, wishes: wording.wishes })));
