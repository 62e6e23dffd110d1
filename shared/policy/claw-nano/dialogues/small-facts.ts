import { closings, greetings } from './answer.ts';
import { pick, type Random } from './choose.ts';
import type { Style } from './style.ts';

/** A question with one short answer; `fact` is what the answer must hold. */
export type SmallFact = {
  readonly asks: readonly string[];
  readonly answers: readonly string[];
  readonly fact: string;
};

const rows = (text: string): readonly (readonly [string, string])[] =>
  text.split(', ').map((row) => {
    const [key = '', value = ''] = row.split(': ');
    return [key, value] as const;
  });

const capitals = rows(
  'France: Paris, Germany: Berlin, Italy: Rome, Spain: Madrid, Portugal: Lisbon, Austria: Vienna, Greece: Athens, ' +
    'Norway: Oslo, Sweden: Stockholm, Poland: Warsaw, Japan: Tokyo, Egypt: Cairo, Peru: Lima, Ireland: Dublin, ' +
    'England: London, Denmark: Copenhagen',
);
const opposites = rows(
  'hot: cold, big: small, fast: slow, light: dark, old: new, high: low, wet: dry, loud: quiet, early: late, ' +
    'easy: hard, full: empty, happy: sad, open: closed, strong: weak, long: short',
);
const young = rows(
  'dog: puppy, cat: kitten, cow: calf, horse: foal, sheep: lamb, pig: piglet, duck: duckling, frog: tadpole, ' +
    'bear: cub, goat: kid',
);
const legs = rows(
  'spider: eight, dog: four, bird: two, bee: six, horse: four, snake: no, ant: six, cat: four',
);
const colours = rows(
  'the sky: blue, grass: green, snow: white, a lemon: yellow, a ripe tomato: red, coal: black, a carrot: orange, ' +
    'chocolate: brown',
);
const months = rows(
  'January: 31, April: 30, June: 30, July: 31, September: 30, October: 31, November: 30, December: 31, ' +
    'March: 31, May: 31, August: 31',
);

const table = (
  pairs: readonly (readonly [string, string])[],
  asks: readonly string[],
  answers: readonly string[],
): readonly SmallFact[] =>
  pairs.map(([key, fact]) => {
    const put = (template: string): string => template.replaceAll('{key}', key).replaceAll('{fact}', fact);
    return { asks: asks.map(put), answers: answers.map(put), fact };
  });

export const smallFacts: readonly SmallFact[] = [
  ...table(
    capitals,
    ['What is the capital of {key}?', 'Which city is the capital of {key}?', 'Tell me the capital of {key}.'],
    ['The capital of {key} is {fact}.', 'It is {fact}.'],
  ),
  ...table(
    opposites,
    ['What is the opposite of {key}?', 'Which word is the opposite of {key}?'],
    ['The opposite of {key} is {fact}.', 'It is {fact}.'],
  ),
  ...table(
    young,
    ['What is a young {key} called?', 'What do you call a baby {key}?'],
    ['A young {key} is called a {fact}.', 'It is called a {fact}.'],
  ),
  ...table(
    legs,
    ['How many legs does a {key} have?', 'Do you know how many legs a {key} has?'],
    ['A {key} has {fact} legs.'],
  ),
  ...table(
    colours,
    ['What colour is {key}?', 'Which colour does {key} have?'],
    ['The colour of {key} is {fact}.', 'It is {fact}.'],
  ),
  ...table(
    months,
    ['How many days are in {key}?', 'How many days does {key} have?'],
    ['{key} has {fact} days.', 'There are {fact} days in {key}.'],
  ),
];

/** A small fact has no items, so a list is never made of it. */
export function writeSmallFact(random: Random, fact: SmallFact, style: Style): string {
  return [
    ...(style.greeting ? [pick(random, greetings)] : []),
    pick(random, fact.answers),
    ...(style.closing ? [pick(random, closings)] : []),
  ].join(' ');
}
