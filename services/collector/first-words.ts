import { fnv1a } from './system-sketch.ts';

/**
 * Words of a short text in order, each as 16 bits of a hash, which is enough to compare two texts. A dictionary
 * recovers most of them, so they are deleted together with their text.
 */
export type WordNumbers = readonly number[];

const word = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)*/gu;
/**
 * Bounds on a person's first message, in words: shorter ones match by chance, longer ones come from programs.
 */
const [FEWEST, MOST] = [3, 64];
const LONGEST = 1000;
/** Bounds on the words that an edit adds. A single word may be the next value in a template. */
const [FEWEST_ADDED, MOST_ADDED] = [2, 16];
/** Least number of words at the start that both texts share. A title prompt puts its own words first. */
const FEWEST_BEFORE = 2;
/** Number of words by which an answer is recognised inside a request. */
const HEAD = 3;
/** Text after these marks is a field value, which a program fills in. */
const fieldMark = /[:="“”«»„`<{[|]|\n/;

const numberOf = (text: string): number => fnv1a(text.toLowerCase().replaceAll('’', "'")) & 0xffff;
const numbersOf = (text: string): WordNumbers => (text.match(word) ?? []).map(numberOf);

/** The words of a first message; undefined: it is too short or too long to recognise edits of it. */
export function firstWords(text: string): WordNumbers | undefined {
  if (text.length > LONGEST) return undefined;
  const numbers = numbersOf(text);
  return numbers.length < FEWEST || numbers.length > MOST ? undefined : numbers;
}

/** The beginning of an answer. */
export const headOf = (answer: string): WordNumbers => numbersOf(answer.slice(0, 200)).slice(0, HEAD);

type AnsweredWords = {
  readonly words: WordNumbers;
  /** head of the answer to them */
  readonly head: WordNumbers;
};

/**
 * Whether a text is an earlier one to which a person added a passage, mostly a wish. All earlier words must
 * remain in order, and the new ones must be contiguous. Replaced words do not count, because a program fills a
 * template that way. Nor does a passage of names and numbers only, inside a field, or that repeats the answer
 * (as in requests that contain their own history).
 */
export function addsPassage({ words, head }: AnsweredWords, later: string): boolean {
  if (later.length > 2 * LONGEST || head.length === 0) return false;
  const matches = [...later.matchAll(word)];
  const more = matches.length - words.length;
  if (more < FEWEST_ADDED || more > MOST_ADDED) return false;
  const now = matches.map(([text]) => numberOf(text));
  const before = commonPrefix(words, now);
  const after = commonPrefix(words.slice(before).toReversed(), now.toReversed());
  if (before < FEWEST_BEFORE || before + after < words.length) return false;
  const added = matches.slice(before, before + more);
  const passageEnd = added.at(-1)!.index + added.at(-1)![0].length;
  if (fieldMark.test(later.slice(0, added[0]!.index).trimEnd())) return false;
  if (fieldMark.test(later.slice(added[0]!.index, passageEnd))) return false;
  if (holdsRun(now.slice(before, before + more), head)) return false;
  const plain = added.filter((match) => isPlain(match[0], later.slice(0, match.index)));
  return new Set(plain.map(([text]) => numberOf(text))).size >= FEWEST_ADDED; // a repeated "and" only joins a list
}

/** Whether two first messages may come from one template: same beginning, or half of the words in common. */
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

/** Whether a word is neither a number nor a name, that is, capitalised in mid-sentence. */
function isPlain(text: string, before: string): boolean {
  if (/\p{N}/u.test(text)) return false;
  return !/^\p{Lu}/u.test(text) || /[.!?]\s*$/.test(before);
}
