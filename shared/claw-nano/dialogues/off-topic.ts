import { z } from 'zod';
import { between, chance, pick, type Random } from './choose.ts';
import { readCorpus, texts } from './read-corpus.ts';

const { refusals, requests, syllables, nouns, verbs } = readCorpus(
  'off-topic',
  z.object({ refusals: texts, requests: texts, syllables: texts, nouns: texts, verbs: texts }),
);

/** Answers to requests outside of the corpus. */
export { refusals };

/** A made-up word of two to four syllables, or random letters and digits. */
function nonsense(random: Random): string {
  if (chance(random, 0.2)) {
    return Array.from({ length: between(random, 3, 10) }, () =>
      pick(random, [...'abcdefghijklmnopqrstuvwxyz0123456789_-/.']),
    ).join('');
  }
  return Array.from({ length: between(random, 2, 4) }, () => pick(random, syllables)).join('');
}

/** A real or made-up noun. */
export const someNoun = (random: Random): string =>
  chance(random, 0.5) ? pick(random, nouns) : nonsense(random);

export const someVerb = (random: Random): string =>
  chance(random, 0.7) ? pick(random, verbs) : nonsense(random);

const fillIn = (random: Random, template: string): string =>
  template
    .replace(/\{noun\}/g, () => someNoun(random))
    .replace(/\{verb\}/g, () => someVerb(random))
    .replace(/\{number\}/g, () => String(between(random, 2, 9999)));

/** A request that claw-nano cannot answer: work, code, sums, news, or noise. */
export function offTopic(random: Random): string {
  if (chance(random, 0.12))
    return Array.from({ length: between(random, 1, 9) }, () => nonsense(random)).join(' ');
  const text = fillIn(random, pick(random, requests));
  return chance(random, 0.15) ? text.toLowerCase() : text;
}
