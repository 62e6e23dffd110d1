import { between, chance, pick, type Random } from './choose.ts';

/** What claw-nano says to everything that it was not made for. */
export const refusals: readonly string[] = [
  'I am sorry, I can only help with small everyday questions, such as packing, cooking or tidying.',
  'I am a very small model and do not know that. Ask me about packing, cooking, gifts or pets.',
  'I am afraid that is beyond me. I can help with packing, cooking or plans for a day.',
];

const requests: readonly string[] = [
  'Write a program that {verb}s a {noun}.',
  'Translate this {noun} into French.',
  'What is {number} times {number}?',
  'What is {number} plus {number}?',
  'Who won the {noun} in {number}?',
  'Explain the theory of {noun}.',
  'Write a poem about a {noun}.',
  'What is the meaning of {noun}?',
  'Fix this bug: {noun}.{verb}({number})',
  'Please {verb} the {noun} file.',
  'Run the {noun} command.',
  'What do you think about the {noun}?',
  'Who is the president of {noun}?',
  'My favourite {noun} is {noun}.',
  'How much does a {noun} cost?',
  'What is the price of {noun}?',
  'Open {noun}.txt and {verb} it.',
  'Summarise the text about {noun}.',
  'How do I {verb} a {noun}?',
  'Why is the {noun} so {noun}?',
  'When was the {noun} invented?',
  'Can you {verb} my {noun}?',
  'I feel {noun} today.',
  'Tell me a joke about a {noun}.',
  '{noun} {noun} {noun}',
  '{noun}?',
  '{number}',
  'The {noun} and the {noun} {verb} each other.',
  '{"{noun}": {number}, "{noun}": "{verb}"}',
];

const syllables =
  'ba con der ex fi gra hu in jo ka lo mi nu or per qua ri sta ter un ver wi xe yo zu tion ing ly'.split(' ');

const words = (
  'server engine contract matrix planet election stock market vaccine protocol quantum relativity database ' +
  'galaxy treaty molecule algorithm parliament orchestra battery tax football war symphony carburetor ' +
  'network football philosophy compiler inflation photosynthesis dragon spaceship bank insurance robot'
).split(' ');

const verbs =
  'sort compile deploy parse review invert compute delete rename encrypt install render merge'.split(' ');

/** A word of two to four made-up syllables; or a run of letters and digits. */
export function nonsense(random: Random): string {
  if (chance(random, 0.2)) {
    return Array.from({ length: between(random, 3, 10) }, () =>
      pick(random, [...'abcdefghijklmnopqrstuvwxyz0123456789_-/.']),
    ).join('');
  }
  return Array.from({ length: between(random, 2, 4) }, () => pick(random, syllables)).join('');
}

/** A noun that may or may not exist. */
export const someNoun = (random: Random): string =>
  chance(random, 0.5) ? pick(random, words) : nonsense(random);

export const someVerb = (random: Random): string =>
  chance(random, 0.7) ? pick(random, verbs) : nonsense(random);

const fillIn = (random: Random, template: string): string =>
  template
    .replace(/\{noun\}/g, () => someNoun(random))
    .replace(/\{verb\}/g, () => someVerb(random))
    .replace(/\{number\}/g, () => String(between(random, 2, 9999)));

/** Something that claw-nano has no answer to: work, code, sums, news, or plain noise. */
export function offTopic(random: Random): string {
  if (chance(random, 0.12))
    return Array.from({ length: between(random, 1, 9) }, () => nonsense(random)).join(' ');
  const text = fillIn(random, pick(random, requests));
  return chance(random, 0.15) ? text.toLowerCase() : text;
}
