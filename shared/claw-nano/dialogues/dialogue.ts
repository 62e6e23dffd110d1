import { z } from 'zod';
import { hintMarker } from '../../policy/text/hint.ts';
import { acknowledge, writeAnswer } from './answer.ts';
import { type Ask, sampleAsk, typed, typedWish } from './ask.ts';
import { chance, pick, pickWeighted, type Random } from './choose.ts';
import { offTopic, refusals } from './off-topic.ts';
import { readCorpus, texts } from './read-corpus.ts';
import { smallFacts, writeSmallFact } from './small-facts.ts';
import { type Style, sampleStyle, type Wishes } from './style.ts';
import { internalContext, longSystem, shortSystem, wrapUserText } from './surroundings.ts';
import { type Instruction, sampleInstruction, sampleStandingInstruction } from './wishes.ts';

/** Small talk; every answer fits every saying. */
const talkSchema = z.object({ says: texts, answers: texts });
type SmallTalk = z.output<typeof talkSchema>;

const { openings, thanks, goodbyes, acknowledgements, complaints, promises } = readCorpus(
  'small-talk',
  z.object({
    openings: z.array(talkSchema).readonly(),
    thanks: talkSchema,
    goodbyes: talkSchema,
    acknowledgements: talkSchema,
    complaints: talkSchema.describe('praise or blame without a request'),
    promises: texts.describe('answers to a wish that comes before any request'),
  }),
);

/** One exchange. `wishes`: those in force; `style`: of the answer, if a style applies. */
export type Turn = {
  readonly kind: 'topic' | 'again' | 'more' | 'fact' | 'promise' | 'off-topic' | 'talk';
  readonly user: string;
  readonly answer: string;
  readonly wishes: Wishes;
  readonly style?: Style;
  /** The items of the topic, or the fact of a small question. */
  readonly facts?: readonly string[];
};

export type Dialogue = {
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
  /** A message that the client adds after the last user message. */
  readonly internal: string | undefined;
};

export type Message = { readonly role: 'system' | 'user' | 'assistant' | 'tool'; readonly content: string };

type Past = {
  readonly wishes: Wishes;
  readonly turn: 'first' | 'later';
  readonly last: Turn | undefined;
  readonly ask: Ask | undefined;
  readonly named: readonly string[];
};

type Step = { readonly turn: Turn; readonly past: Past };

/** Places an instruction before or after a request. */
const withInstruction = (random: Random, text: string, instruction: string): string =>
  pickWeighted(random, [
    [4, `${text} ${instruction}`],
    [4, `${text}\n\n${hintMarker}\n${instruction}`],
    [1.5, `${instruction} ${text}`],
    [0.5, `${text}\n${instruction}`],
  ]);

function topicTurn(random: Random, past: Past): Step {
  const ask = sampleAsk(random);
  const instruction = chance(random, 0.5) ? sampleInstruction(random) : undefined;
  const wishes = { ...past.wishes, ...instruction?.wishes };
  const style = sampleStyle(random, wishes, past.turn);
  const { text, items } = writeAnswer(random, ask.topic, style);
  const asked = typed(random, ask.text);
  const user =
    instruction === undefined ? asked : withInstruction(random, asked, typedWish(random, instruction.text));
  const facts = ask.topic.entry.items;
  return follow(past, { kind: 'topic', user, answer: text, wishes, style, facts }, ask, items);
}

/** The user asks for the last answer again in another style. */
function againTurn(random: Random, past: Past, ask: Ask): Step {
  const instruction = contradicting(random, past.last?.style);
  const wishes = { ...past.wishes, ...instruction.wishes };
  const style = sampleStyle(random, wishes, 'later');
  const { text, items } = writeAnswer(random, ask.topic, style);
  const lead = pickWeighted(random, [
    [6, ''],
    [1, 'Thanks. '],
    [1, 'Good. '],
    [1, 'Hm. '],
    [1, 'I said: '],
    [1, 'Again: '],
    [1, 'Fine, but: '],
  ]);
  const answer = `${style.greeting ? '' : acknowledge(random)}${text}`;
  const user = typedWish(random, `${lead}${instruction.text}`);
  return follow(
    past,
    { kind: 'again', user, answer, wishes, style, facts: ask.topic.entry.items },
    ask,
    items,
  );
}

/** An instruction that the last answer did not meet, if one is found in a few tries. */
function contradicting(random: Random, last: Style | undefined): Instruction {
  const tries = Array.from({ length: 8 }, () => sampleInstruction(random));
  const unmet = tries.find((instruction) =>
    Object.entries(instruction.wishes).some(([trait, wish]) => last?.[trait as keyof Style] !== wish),
  );
  return unmet ?? tries[0]!;
}

function moreTurn(random: Random, past: Past, ask: Ask): Step {
  const user = pick(random, ['What else?', 'Anything else?', 'More ideas, please.', 'Can you name more?']);
  const style = { ...sampleStyle(random, past.wishes, 'later'), long: false };
  const { text, items } = writeAnswer(random, ask.topic, style, past.named);
  const turn: Turn = { kind: 'more', user, answer: text, wishes: past.wishes, facts: ask.topic.entry.items };
  return follow(past, turn, ask, items);
}

function factTurn(random: Random, past: Past): Step {
  const small = pick(random, smallFacts);
  const style = sampleStyle(random, past.wishes, past.turn);
  const user = typed(random, pick(random, small.asks));
  const answer = writeSmallFact(random, small, style);
  return follow(past, { kind: 'fact', user, answer, wishes: past.wishes, facts: [small.fact] });
}

/** The user names a wish before any request. */
function promiseTurn(random: Random, past: Past): Step {
  const { text, wishes } = sampleStandingInstruction(random);
  const all = { ...past.wishes, ...wishes };
  return follow(past, { kind: 'promise', user: text, answer: pick(random, promises), wishes: all });
}

const offTopicTurn = (random: Random, past: Past): Step =>
  follow(past, {
    kind: 'off-topic',
    user: offTopic(random),
    answer: pick(random, refusals),
    wishes: past.wishes,
  });

const talkTurn = (random: Random, past: Past, talk: SmallTalk): Step =>
  follow(past, {
    kind: 'talk',
    user: pick(random, talk.says),
    answer: pick(random, talk.answers),
    wishes: past.wishes,
  });

const follow = (
  past: Past,
  turn: Turn,
  ask: Ask | undefined = past.ask,
  items: readonly string[] = [],
): Step => ({
  turn,
  past: {
    wishes: turn.wishes,
    turn: 'later',
    last: turn,
    ask,
    named: turn.kind === 'more' ? [...past.named, ...items] : items,
  },
});

type NextTurn = (random: Random, past: Past) => Step;

const firstTurns: readonly (readonly [number, NextTurn])[] = [
  [72, topicTurn],
  [8, factTurn],
  [6, (random, past) => talkTurn(random, past, pick(random, openings))],
  [8, offTopicTurn],
  [3, promiseTurn],
  [1, (random, past) => talkTurn(random, past, thanks)],
];

const laterTurns = ({ ask, named }: Past): readonly (readonly [number, NextTurn])[] => [
  [24, topicTurn],
  [6, factTurn],
  [4, offTopicTurn],
  [16, (random, past) => talkTurn(random, past, thanks)],
  [4, (random, past) => talkTurn(random, past, goodbyes)],
  [4, (random, past) => talkTurn(random, past, acknowledgements)],
  [4, (random, past) => talkTurn(random, past, complaints)],
  ...(ask === undefined || named.length === 0
    ? []
    : [[32, (random: Random, past: Past) => againTurn(random, past, ask)] as const]),
  ...(ask === undefined || named.length === 0 || ask.topic.entry.items.length - named.length < 2
    ? []
    : [[6, (random: Random, past: Past) => moreTurn(random, past, ask)] as const]),
];

/** No system prompt, a short one with or without an instruction, or a long one about other things. */
function sampleSystem(random: Random): { readonly system: string | undefined; readonly wishes: Wishes } {
  const kind = pickWeighted(random, [
    [55, 'none'],
    [17, 'short'],
    [18, 'instruction'],
    [10, 'long'],
  ] as const);
  if (kind === 'none') return { system: undefined, wishes: {} };
  if (kind === 'short') return { system: shortSystem(random), wishes: {} };
  if (kind === 'instruction') {
    const { text, wishes } = sampleInstruction(random);
    return { system: chance(random, 0.5) ? `${shortSystem(random)} ${text}` : text, wishes };
  }
  const lines = pickWeighted(random, [
    [6, 3],
    [3, 8],
    [1, 40],
  ]);
  return { system: longSystem(random, lines), wishes: {} };
}

/** One conversation of one to four turns. The random numbers determine all of it. */
export function generateDialogue(random: Random): Dialogue {
  const { system, wishes } = sampleSystem(random);
  const length = pickWeighted(random, [
    [60, 1],
    [26, 2],
    [10, 3],
    [4, 4],
  ]);
  const turns: Turn[] = [];
  let past: Past = { wishes, turn: 'first', last: undefined, ask: undefined, named: [] };
  while (turns.length < length) {
    const next = pickWeighted(random, turns.length === 0 ? firstTurns : laterTurns(past))(random, past);
    turns.push({ ...next.turn, user: wrapUserText(random, next.turn.user) });
    past = next.past;
  }
  return { system, turns, internal: chance(random, 0.02) ? internalContext(random) : undefined };
}

/** The dialogue as a client would send it, with the last answer at the end. */
export function dialogueMessages({ system, turns, internal }: Dialogue): readonly Message[] {
  const last = turns.length - 1;
  return [
    ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
    ...turns.flatMap(({ user, answer }, index): readonly Message[] => [
      { role: 'user', content: user },
      ...(internal !== undefined && index === last ? [{ role: 'user', content: internal } as const] : []),
      { role: 'assistant', content: answer },
    ]),
  ];
}
