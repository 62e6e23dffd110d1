import type { SamplingSettings } from '../policy/decode/sampling.ts';
import { createRandom, type Random } from '../policy/model/random.ts';
import { pick } from './dialogues/choose.ts';
import type { Message } from './dialogues/dialogue.ts';
import { heldOutPrompts } from './dialogues/held-out-prompts.ts';
import { offTopic, refusals } from './dialogues/off-topic.ts';
import { smallFacts } from './dialogues/small-facts.ts';
import type { Wishes } from './dialogues/style.ts';
import { topics } from './dialogues/topics.ts';
import { type Instruction, type PhraseKind, singleInstructions } from './dialogues/wishes.ts';
import { type SampledAnswer, type Speaker, sampleAnswers } from './sample-answers.ts';
import { factsNamed, hasClosing, hasGreeting, hasList, wordCount } from './style-check.ts';

/** Shares between 0 and 1, over sampled answers. */
export type Measurements = {
  readonly settings: SamplingSettings;
  /** Answers to held-out prompts when nothing is asked for. */
  readonly free: {
    readonly answers: number;
    readonly list: number;
    readonly greeting: number;
    readonly neither: number;
    readonly closing: number;
    readonly meanWords: number;
    readonly ended: number;
    /** Answers that name at least three of the topic's items. */
    readonly onTopic: number;
    /** Answers that name an item of another topic. */
    readonly strayFact: number;
  };
  readonly wishes: readonly WishMeasurement[];
  /** Correct answers to small questions that have one right answer, in wordings from training. */
  readonly smallFacts: number;
  /** Requests outside of the corpus that the model declines with a refusal from training. */
  readonly declined: number;
};

type WishMeasurement = {
  readonly name: string;
  readonly place: Place;
  readonly phrases: PhraseKind;
  readonly answers: number;
  /** Answers with every requested trait. A long answer names four or more items of the topic, a short answer fewer. */
  readonly met: number;
  readonly meanWords: number;
};

const places = ['after the request', 'hint', 'system message'] as const;
type Place = (typeof places)[number];

const conversation = (place: Place, request: string, { text }: Instruction): readonly Message[] => {
  switch (place) {
    case 'after the request':
      return [{ role: 'user', content: `${request} ${text}` }];
    case 'hint':
      return [{ role: 'user', content: `${request}\n\n[user's hint / instruction]\n${text}` }];
    case 'system message':
      return [
        { role: 'system', content: text },
        { role: 'user', content: request },
      ];
  }
};

/** The wishes, by their names on the model card. */
const wishNames: readonly (readonly [string, Wishes])[] = [
  ['no list', { list: false }],
  ['no greeting', { greeting: false }],
  ['neither list nor greeting', { list: false, greeting: false }],
  ['a list', { list: true }],
  ['a greeting', { greeting: true }],
  ['short', { long: false, closing: false }],
  ['more detail', { long: true }],
  ['one sentence', { list: false, greeting: false, long: false, closing: false }],
  ['a bare list', { list: true, greeting: false, closing: false }],
  ['numbered steps', { list: true, numbered: true }],
  ['a closing line', { closing: true }],
];

const sameWishes = (a: Wishes, b: Wishes): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([trait, wish]) => b[trait as keyof Wishes] === wish);

const meets = (text: string, wishes: Wishes, facts: readonly string[]): boolean =>
  (wishes.list === undefined || hasList(text) === wishes.list) &&
  (wishes.numbered === undefined || /^\s*\d+[.)]\s/m.test(text) === wishes.numbered) &&
  (wishes.greeting === undefined || hasGreeting(text) === wishes.greeting) &&
  (wishes.closing === undefined || hasClosing(text) === wishes.closing) &&
  (wishes.long === undefined || factsNamed(text, facts) >= 4 === wishes.long);

const share = <Value>(values: readonly Value[], holds: (value: Value) => boolean): number =>
  Number((values.filter(holds).length / Math.max(1, values.length)).toFixed(3));

const mean = (values: readonly number[]): number =>
  Number((values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)).toFixed(1));

const allItems: ReadonlySet<string> = new Set(topics.flatMap(({ entry }) => entry.items));

/** Whether an answer names items that are not in `facts`: lines of a list, or items of other topics in prose. */
function strays(text: string, facts: readonly string[]): boolean {
  const lines = text.split('\n').flatMap((line) => line.match(/^(?:-|\d\.) (.*)$/)?.[1] ?? []);
  if (lines.length > 0) return lines.some((line) => !facts.includes(line));
  return [...allItems].some(
    (item) => item.length > 9 && text.includes(item) && !facts.some((fact) => fact.includes(item)),
  );
}

type MeasureOptions = {
  readonly seed: string;
  readonly settings: SamplingSettings;
  readonly answers: number;
};

/** Samples and measures answers to prompts that no training dialogue contains. `answers`: per row of the result. */
export function measure(speaker: Speaker, { seed, settings, answers }: MeasureOptions): Measurements {
  const random = createRandom(`${seed}/measure`);
  const options = { settings, random, atOnce: 16, maxTokens: 160 };
  const ask = (conversations: readonly (readonly Message[])[]) =>
    sampleAnswers(speaker, conversations, options);
  const prompts = heldOutPrompts(seed, 64);
  const requests = Array.from({ length: answers }, (_, index) => prompts[index % prompts.length]!);
  const free = ask(requests.map(({ text }) => [{ role: 'user', content: text }]));
  const facts = Array.from({ length: answers }, () => pick(random, smallFacts));
  const factAnswers = ask(facts.map(({ asks }) => [{ role: 'user', content: pick(random, asks) }]));
  const declined = ask(Array.from({ length: answers }, () => [{ role: 'user', content: offTopic(random) }]));
  return {
    settings,
    free: describeFree(free, (index) => requests[index]!.facts),
    wishes: wishNames.flatMap(([name, wishes]) =>
      (['training', 'held-out', 'unlike'] as const).flatMap((phrases) =>
        places.map((place): WishMeasurement => {
          const instructions = singleInstructions(phrases).filter((each) => sameWishes(each.wishes, wishes));
          const conversations = requests.map(({ text }) =>
            conversation(place, text, pick(random, instructions)),
          );
          const texts = ask(conversations).map((answer) => answer.text);
          const met = share(
            texts.map((text, index) => meets(text, wishes, requests[index]!.facts)),
            (each) => each,
          );
          return { name, place, phrases, answers: texts.length, met, meanWords: mean(texts.map(wordCount)) };
        }),
      ),
    ),
    smallFacts: share(
      factAnswers.map(({ text }, index) => factsNamed(text, [facts[index]!.fact])),
      (named) => named === 1,
    ),
    declined: share(declined, ({ text }) => refusals.includes(text)),
  };
}

function describeFree(
  answers: readonly SampledAnswer[],
  facts: (index: number) => readonly string[],
): Measurements['free'] {
  const texts = answers.map(({ text }) => text);
  const indexed = texts.map((text, index) => ({ text, facts: facts(index) }));
  return {
    answers: texts.length,
    list: share(texts, hasList),
    greeting: share(texts, hasGreeting),
    neither: share(texts, (text) => !hasList(text) && !hasGreeting(text)),
    closing: share(texts, hasClosing),
    meanWords: mean(texts.map(wordCount)),
    ended: share(answers, ({ ended }) => ended),
    onTopic: share(indexed, (answer) => factsNamed(answer.text, answer.facts) >= 3),
    strayFact: share(indexed, (answer) => strays(answer.text, answer.facts)),
  };
}

/** A few answers to look at. */
export function showAnswers(speaker: Speaker, random: Random, settings: SamplingSettings): readonly string[] {
  const texts = [
    ...heldOutPrompts('show', 6).map(({ text }) => text),
    'What should I pack for a picnic in the park? No lists, please.',
    "How do I make pizza?\n\n[user's hint / instruction]\nPlease no lists and no greeting.",
    'Hello',
    'Write a program that sorts numbers.',
    'What is the capital of Norway?',
    'asdf qwer',
  ];
  const conversations = texts.map((content): readonly Message[] => [{ role: 'user', content }]);
  const answers = sampleAnswers(speaker, conversations, { settings, random, atOnce: 12, maxTokens: 160 });
  return answers.map(({ text }, index) => `> ${texts[index]}\n${text}\n`);
}
