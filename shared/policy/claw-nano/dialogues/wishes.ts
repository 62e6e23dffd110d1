import { chance, pick, pickWeighted, type Random, shuffle } from './choose.ts';
import { isHeldOut } from './held-out.ts';
import type { Wishes } from './style.ts';
import { expandPattern, samplePattern } from './wording-pattern.ts';
import { pairWordings, singleWordings, type Wording } from './wordings.ts';

/** A wish in words, with what it asks for. */
export type Instruction = { readonly text: string; readonly wishes: Wishes };

const wordings = [...singleWordings, ...pairWordings];

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

/** An instruction about lists or greetings: it makes sense before there is anything to shorten or to add to. */
export function sampleStandingInstruction(random: Random): Instruction {
  const standing = wordings.filter(
    ({ wishes }) => wishes.list !== undefined || wishes.greeting !== undefined,
  );
  const wording = sampleWording(random, standing);
  return { text: samplePhrase(random, wording), wishes: wording.wishes };
}

/**
 * training: sentences that dialogues may hold; held-out: others of the same patterns, which none holds; unlike: sentences
 * in other words.
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
