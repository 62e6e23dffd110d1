import { z } from 'zod';
import { readCorpus, texts } from './read-corpus.ts';

const entrySchema = z.object({
  topic: z.string().describe('as it appears in a sentence'),
  items: texts.describe('facts that an answer may name; each can be searched for in its text'),
  tip: z.string(),
});
export type Entry = z.output<typeof entrySchema>;

/**
 * A family of everyday requests that share their wording. `{topic}` is replaced by the entry's name and `{items}`
 * by some of its items, joined as "a, b and c".
 */
const familySchema = z.object({
  name: z.string(),
  asks: texts.describe('ways to ask; none of them names a style'),
  listLeads: texts.describe(
    'sentences that end in a colon, before items on lines of their own. Their first word never begins a prose ' +
      'sentence: whether an answer is a list is then decided by one token, which is easy to learn and to change',
  ),
  proses: texts.describe('whole sentences that contain the items'),
  remarks: texts.describe(
    'remarks that fit every entry; a long answer has one of them and the tip of its entry',
  ),
  entries: z.array(entrySchema).readonly(),
});
type Family = z.output<typeof familySchema>;

/** One entry of one family. */
export type Topic = { readonly id: string; readonly family: Family; readonly entry: Entry };

/** Do not reorder: the result of a seed depends on the order. */
const files = ['travel', 'food', 'home', 'people', 'mind-and-body', 'animals'];

export const topics: readonly Topic[] = files
  .flatMap((file) => readCorpus(`topics/${file}`, z.array(familySchema)))
  .flatMap((family) =>
    family.entries.map((entry) => ({ id: `${family.name}/${entry.topic}`, family, entry })),
  );
