import { readFileSync } from 'node:fs';

// What the tools of the example know: the tables from which claw-nano's training conversations are written.

/** What a tool answers; undefined: the question is not for it. */
type Answer = string | undefined;

type FactTable = {
  readonly asks: readonly string[];
  readonly answers: readonly string[];
  readonly facts: Readonly<Record<string, string>>;
};
type TopicFamily = {
  readonly asks: readonly string[];
  readonly proses: readonly string[];
  readonly entries: readonly { readonly topic: string; readonly items: readonly string[] }[];
};
type Exchange = { readonly says: readonly string[]; readonly answers: readonly string[] };

const read = <Table>(name: string): Table =>
  JSON.parse(
    readFileSync(new URL(`../../shared/claw-nano/corpus/${name}.json`, import.meta.url), 'utf8'),
  ) as Table;

const facts = read<readonly FactTable[]>('small-facts');
const topicFiles = ['travel', 'food', 'home', 'people', 'mind-and-body', 'animals'];
const families = topicFiles.flatMap((name) => read<readonly TopicFamily[]>(`topics/${name}`));
const talk = read<Readonly<Record<string, Exchange>> & { readonly openings: readonly Exchange[] }>(
  'small-talk',
);
const exchanges = [...talk.openings, talk.thanks!, talk.goodbyes!, talk.acknowledgements!, talk.complaints!];

/** The capital of Peru, the young of a cow: a fact of one word. */
function lookUp(question: string): Answer {
  for (const { asks, answers, facts: table } of facts)
    for (const [key, fact] of Object.entries(table))
      if (asks.some((ask) => ask.replace('{key}', key) === question))
        return answers[0]!.replaceAll('{key}', key).replaceAll('{fact}', fact);
  return undefined;
}

/** What to pack, cook, plant or see: some items of a topic. */
function advise(question: string): Answer {
  for (const { asks, proses, entries } of families)
    for (const { topic, items } of entries)
      if (asks.some((ask) => ask.replace('{topic}', topic) === question))
        return proses[0]!
          .replaceAll('{topic}', topic)
          .replaceAll('{items}', `${items.slice(0, 2).join(', ')} and ${items[2]}`);
  return undefined;
}

/** A greeting, thanks or a goodbye, answered in kind. */
const reply = (words: string): Answer => exchanges.find(({ says }) => says.includes(words))?.answers[0];

const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  plus: (a, b) => a + b,
  minus: (a, b) => a - b,
  times: (a, b) => a * b,
};

/** `What is 3 plus 4?` */
function calculate(question: string): Answer {
  const [, a, operation, b] = /(\d+) (plus|minus|times) (\d+)/.exec(question) ?? [];
  return operation === undefined ? undefined : String(operations[operation]!(Number(a), Number(b)));
}

export type RoutingTool = {
  readonly name: string;
  readonly description: string;
  readonly answer: (question: string) => Answer;
};

/** The first token of each name differs, so that the first token of an answer decides. */
export const routingTools: readonly RoutingTool[] = [
  { name: 'fact', description: 'Looks up a small fact, such as a capital.', answer: lookUp },
  { name: 'advice', description: 'Gives advice on an everyday topic.', answer: advise },
  { name: 'talk', description: 'Answers greetings, thanks and goodbyes.', answer: reply },
  { name: 'sum', description: 'Calculates with two numbers.', answer: calculate },
];
