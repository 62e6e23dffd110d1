import { z } from 'zod';
import { chance, pick, pickWeighted, type Random, shuffle } from './choose.ts';
import { isHeldOut } from './held-out.ts';
import { readCorpus, texts } from './read-corpus.ts';
import type { Wishes } from './style.ts';

/** A wish in words, with the traits that it asks for. */
export type Instruction = { readonly text: string; readonly wishes: Wishes };

/** Ways to express one wish: to the assistant, or as a remark about the user. */
const wordingSchema = z.object({
  weight: z.number().positive(),
  wishes: z.partialRecord(z.enum(['list', 'numbered', 'greeting', 'long', 'closing']), z.boolean()),
  patterns: texts.describe('see samplePattern'),
  unlike: texts.describe(
    'in other words than the patterns; never trained on, to measure how far understanding reaches',
  ),
});
type Wording = z.output<typeof wordingSchema>;

const wordingList = z.array(wordingSchema).readonly();
const { single: singleWordings, pairs: pairWordings } = readCorpus(
  'wishes',
  z.object({ single: wordingList, pairs: wordingList.describe('two wishes in one sentence') }),
);
const wordings = [...singleWordings, ...pairWordings];

/** Alternatives in brackets, as in "(Please |)no (lists|bullet points)."; brackets do not nest. */
const groups = /\(([^)]*)\)/g;

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** One expansion of a pattern, with a capital at the start; every alternative is equally likely. */
const samplePattern = (random: Random, pattern: string): string =>
  capitalise(pattern.replace(groups, (_, alternatives: string) => pick(random, alternatives.split('|'))));

/** Every expansion of a pattern. */
function expandPattern(pattern: string): readonly string[] {
  const parts = pattern.split(groups); // text, alternatives, text, ...
  const expansions = parts.reduce<readonly string[]>(
    (prefixes, part, index) => {
      const alternatives = index % 2 === 0 ? [part] : part.split('|');
      return prefixes.flatMap((text) => alternatives.map((alternative) => text + alternative));
    },
    [''],
  );
  return expansions.map(capitalise);
}

const sampleWording = (random: Random, from: readonly Wording[]): Wording =>
  pickWeighted(
    random,
    from.map((wording) => [wording.weight, wording] as const),
  );

/** A sentence that is not held out. */
function samplePhrase(random: Random, { patterns }: Wording): string {
  for (;;) {
    const phrase = samplePattern(random, pick(random, patterns));
    if (!isHeldOut(phrase)) return phrase;
  }
}

const fits = (known: Wishes, wishes: Wishes): boolean =>
  Object.keys(wishes).every((trait) => known[trait as keyof Wishes] === undefined);

/** One instruction, or two or three that do not contradict each other. */
export function sampleInstruction(random: Random): Instruction {
  const first = sampleWording(random, wordings);
  let wishes = first.wishes;
  const texts = [samplePhrase(random, first)];
  while (texts.length < 3 && chance(random, 0.2)) {
    const next = shuffle(random, singleWordings).find((wording) => fits(wishes, wording.wishes));
    if (next === undefined) break;
    wishes = { ...wishes, ...next.wishes };
    texts.push(samplePhrase(random, next));
  }
  return { text: texts.join(' '), wishes };
}

/** An instruction about lists or greetings, which makes sense before the first answer. */
export function sampleStandingInstruction(random: Random): Instruction {
  const standing = wordings.filter(
    ({ wishes }) => wishes.list !== undefined || wishes.greeting !== undefined,
  );
  const wording = sampleWording(random, standing);
  return { text: samplePhrase(random, wording), wishes: wording.wishes };
}

/**
 * training: sentences that dialogues may contain; held-out: other sentences of the same patterns, which no dialogue
 * contains; unlike: sentences in other words.
 */
export type PhraseKind = 'training' | 'held-out' | 'unlike';

/** Every instruction of one sentence, of one kind. */
export const singleInstructions = (kind: PhraseKind): readonly Instruction[] =>
  wordings.flatMap(({ patterns, unlike, wishes }) => {
    const texts =
      kind === 'unlike'
        ? unlike
        : patterns.flatMap(expandPattern).filter((text) => isHeldOut(text) === (kind === 'held-out'));
    return texts.map((text) => ({ text, wishes }));
  });
