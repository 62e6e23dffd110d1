import { z } from 'zod';
import { closings, greetings } from './answer.ts';
import { pick, type Random } from './choose.ts';
import { readCorpus, texts } from './read-corpus.ts';
import type { Style } from './style.ts';

/** A question with one short answer, which must contain `fact`. */
type SmallFact = {
  readonly asks: readonly string[];
  readonly answers: readonly string[];
  readonly fact: string;
};

const tables = readCorpus(
  'small-facts',
  z.array(z.object({ asks: texts, answers: texts, facts: z.record(z.string(), z.string()) })),
);

export const smallFacts: readonly SmallFact[] = tables.flatMap(({ asks, answers, facts }) =>
  Object.entries(facts).map(([key, fact]) => {
    const fill = (template: string): string => template.replaceAll('{key}', key).replaceAll('{fact}', fact);
    return { asks: asks.map(fill), answers: answers.map(fill), fact };
  }),
);

/** A small fact has no items, so it is never answered with a list. */
export function writeSmallFact(random: Random, fact: SmallFact, style: Style): string {
  return [
    ...(style.greeting ? [pick(random, greetings)] : []),
    pick(random, fact.answers),
    ...(style.closing ? [pick(random, closings)] : []),
  ].join(' ');
}
