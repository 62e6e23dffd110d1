import { fnv1a } from './system-sketch.ts';

/**
 * Words of a short text, each as 16 bits of a hash: enough to compare two texts. They stand in order, so who has a
 * dictionary guesses most of them: they go where their text goes.
 */
export type WordNumbers = readonly number[];

const word = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)*/gu;
/** A person's first words, in words: shorter ones look alike by chance, longer ones are a program's. */
const [FEWEST, MOST] = [3, 64];
const LONGEST = 1000;
/** Words that an edit adds. One word more may be the next value in a template. */
const [FEWEST_ADDED, MOST_ADDED] = [2, 16];
/** Words that both texts begin with. A title's prompt puts its own words before the person's. */
const FEWEST_BEFORE = 2;
/** Words by which an answer is known again inside a request. */
const HEAD = 3;
/** What comes after these is the value of a field, which a program fills in. */
const fieldMark = /[:="“”«»„`<{[|]|\n/;

const numberOf = (one: string): number => fnv1a(one.toLowerCase().replaceAll('’', "'")) & 0xffff;
const numbersOf = (text: string): WordNumbers => (text.match(word) ?? []).map(numberOf);

/** The words of a first message; undefined: it is too short or too long for an edit of it to be told. */
export function firstWords(text: string): WordNumbers | undefined {
  if (text.length > LONGEST) return undefined;
  const numbers = numbersOf(text);
  return numbers.length < FEWEST || numbers.length > MOST ? undefined : numbers;
}

/** How an answer begins. */
export const headOf = (answer: string): WordNumbers => numbersOf(answer.slice(0, 200)).slice(0, HEAD);

export type Said = {
  readonly words: WordNumbers;
  /** head of the answer to them */
  readonly head: WordNumbers;
};

/**
 * Whether a text is an earlier one to which a person added a passage. All earlier words stand, in their order, and
 * the new ones stand together: a wish, mostly. Words in the place of others are none, since a program fills its
 * template like that. Nor is a passage with names and numbers alone, one inside a field, or one that repeats the
 * answer, as requests do that hold their own history.
 */
export function addsPassage({ words, head }: Said, later: string): boolean {
  if (later.length > 2 * LONGEST || head.length === 0) return false;
  const found = [...later.matchAll(word)];
  const more = found.length - words.length;
  if (more < FEWEST_ADDED || more > MOST_ADDED) return false;
  const now = found.map(([one]) => numberOf(one));
  const before = commonPrefix(words, now);
  const after = commonPrefix(words.slice(before).toReversed(), now.toReversed());
  if (before < FEWEST_BEFORE || before + after < words.length) return false;
  const added = found.slice(before, before + more);
  const passageEnd = added.at(-1)!.index + added.at(-1)![0].length;
  if (fieldMark.test(later.slice(0, added[0]!.index).trimEnd())) return false;
  if (fieldMark.test(later.slice(added[0]!.index, passageEnd))) return false;
  if (holdsRun(now.slice(before, before + more), head)) return false;
  const plain = added.filter((match) => isPlain(match[0], later.slice(0, match.index)));
  return new Set(plain.map(([one]) => numberOf(one))).size >= FEWEST_ADDED; // "and" twice holds a list together
}

/**
 * Whether two first messages may come from one template: they begin alike, or half of the words of one stand in the
 * other.
 */
export function mayShareTemplate(one: WordNumbers, other: WordNumbers): boolean {
  if (commonPrefix(one, other) >= FEWEST) return true;
  const [short, long] = one.length < other.length ? [one, new Set(other)] : [other, new Set(one)];
  return 2 * short.filter((number) => long.has(number)).length >= short.length;
}

function commonPrefix(one: WordNumbers, other: WordNumbers): number {
  const end = one.findIndex((number, index) => number !== other[index]);
  return end === -1 ? one.length : end;
}

const holdsRun = (words: WordNumbers, run: WordNumbers): boolean =>
  words.some((_, start) => run.every((number, index) => number === words[start + index]));

/** No number, and no name: a capital is one where it begins no sentence. */
function isPlain(one: string, before: string): boolean {
  if (/\p{N}/u.test(one)) return false;
  return !/^\p{Lu}/u.test(one) || /[.!?]\s*$/.test(before);
}
