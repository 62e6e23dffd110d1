import { chance, pick, type Random } from './choose.ts';
import { topics } from './topics/all-topics.ts';
import type { Topic } from './topics/topic.ts';

/** One topic asked for in one wording. */
export type Ask = { readonly topic: Topic; readonly text: string };

/** A seventh of all pairs of topic and wording is kept out of training. */
const heldOutShare = 7;

/** FNV-1a, 32 bits: which pairs are held out must not hang on a seed. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

const everyAsk: readonly (Ask & { readonly heldOut: boolean })[] = topics.flatMap((topic) =>
  topic.family.asks.map((template) => ({
    topic,
    text: template.replaceAll('{topic}', topic.entry.topic),
    heldOut: hash(`${topic.id}|${template}`) % heldOutShare === 0,
  })),
);

export const heldOutAsks: readonly Ask[] = everyAsk.filter((ask) => ask.heldOut);

const trainingAsks: ReadonlyMap<string, readonly Ask[]> = new Map(
  topics.map((topic) => [topic.id, everyAsk.filter((ask) => ask.topic === topic && !ask.heldOut)]),
);

/** A request in a wording that is not held out. Every topic is asked for equally often. */
export const sampleAsk = (random: Random): Ask => pick(random, trainingAsks.get(pick(random, topics).id)!);

/** As people type: now and then without capitals, without the last mark, or with a hello of their own. */
export function typed(random: Random, text: string): string {
  const cased = chance(random, 0.08) ? text.toLowerCase() : text;
  const marked = chance(random, 0.08) ? cased.replace(/[.?!]$/, '') : cased;
  return chance(random, 0.08) ? `${pick(random, ['Hi! ', 'Hello, ', 'Hello! ', 'Hey, '])}${marked}` : marked;
}
