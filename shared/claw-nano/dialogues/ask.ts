import { chance, pick, type Random } from './choose.ts';
import { isHeldOut } from './held-out.ts';
import { type Topic, topics } from './topics.ts';

/** A request about one topic, in one wording. */
export type Ask = { readonly topic: Topic; readonly text: string };

const everyAsk: readonly (Ask & { readonly heldOut: boolean })[] = topics.flatMap((topic) =>
  topic.family.asks.map((template) => ({
    topic,
    text: template.replaceAll('{topic}', topic.entry.topic),
    heldOut: isHeldOut(`${topic.id}|${template}`),
  })),
);

export const heldOutAsks: readonly Ask[] = everyAsk.filter((ask) => ask.heldOut);

const trainingAsks: ReadonlyMap<string, readonly Ask[]> = new Map(
  topics.map((topic) => [topic.id, everyAsk.filter((ask) => ask.topic === topic && !ask.heldOut)]),
);

/** A request in a wording that is not held out. Every topic is equally likely. */
export const sampleAsk = (random: Random): Ask => pick(random, trainingAsks.get(pick(random, topics).id)!);

/** One request on each topic, in wordings that are not held out. */
export const asksOfEachTopic = (): readonly string[] =>
  topics.map(({ id }, index) => {
    const asks = trainingAsks.get(id)!;
    return asks[index % asks.length]!.text;
  });

/** As people type: sometimes without capitals or without the final punctuation mark. */
export function typedWish(random: Random, text: string): string {
  const cased = chance(random, 0.08) ? text.toLowerCase() : text;
  return chance(random, 0.08) ? cased.replace(/[.?!]$/, '') : cased;
}

/** Like `typedWish`, sometimes with a greeting. */
export function typed(random: Random, text: string): string {
  const marked = typedWish(random, text);
  return chance(random, 0.08) ? `${pick(random, ['Hi! ', 'Hello, ', 'Hello! ', 'Hey, '])}${marked}` : marked;
}
