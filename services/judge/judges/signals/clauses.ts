import { sentencesIn } from '../../own-words/sentences.ts';

/** A part of a sentence. */
export type Clause = {
  /** lower case, contractions spelled out, no punctuation at its ends */
  readonly text: string;
  /** the whole sentence, as written */
  readonly sentence: string;
  /** it begins with a word like "but", or follows one in its sentence */
  readonly contrast: boolean;
};

/** A longer clause is no reaction. The limit bounds the time of rules with many alternatives. Characters. */
const LONGEST_CLAUSE = 300;

const contractions: readonly (readonly [RegExp, string])[] = [
  [/\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must|need)n'?t\b/g, '$1 not'],
  [/\b(?:can'?t|cannot)\b/g, 'can not'],
  [/\bwon'?t\b/g, 'will not'],
  [/\bain'?t\b/g, 'is not'],
  [/\b(that|it|there|here|what|who|he|she)'s\b/g, '$1 is'],
  [/\bthats\b/g, 'that is'],
  [/\b(i|you|we|they)'(?:ve)\b/g, '$1 have'],
  [/\b(you|we|they)'re\b/g, '$1 are'],
  [/\bi'?m\b/g, 'i am'],
  [/\b(i|you|we|they|it|that)'d\b/g, '$1 would'],
  [/\b(i|you|we|they|it|that)'ll\b/g, '$1 will'],
  [/\blet's\b/g, 'let us'],
  [/\b(?:pls|plz)\b/g, 'please'],
  [/\bu\b/g, 'you'],
];

const CONTRAST = /\b(?:but|however|though|although|except|only that)\b/;

/** The clauses of a person's own words. */
export function clausesOf(words: string): readonly Clause[] {
  return sentencesOf(words).flatMap((sentence) => {
    let contrast = false;
    return sentence
      .split(/[,;:()]|\s[-–—]+\s|—|(?=\b(?:but|however|although|except)\b)/i)
      .map((piece) => {
        const text = normalise(piece);
        contrast = contrast || CONTRAST.test(text);
        return { text: text.replace(/^(?:but|however|although|though) /, ''), sentence, contrast };
      })
      .filter(({ text }) => text !== '' && text.length <= LONGEST_CLAUSE);
  });
}

const sentencesOf = (text: string): readonly string[] =>
  sentencesIn(text)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');

/** Lower case, straight apostrophes, contractions spelled out, single spaces. */
export function normalise(text: string): string {
  let plain = text.toLowerCase().replace(/[’‘ʼ]/g, "'");
  for (const [pattern, replacement] of contractions) plain = plain.replace(pattern, replacement);
  return trimMarks(
    plain.replace(/[^\p{L}\p{N}\p{Extended_Pictographic}'+\s-]/gu, ' ').replace(/\s+/g, ' '),
    " '-",
  );
}

/** The text without these marks at its ends. A regular expression would need quadratic time. */
function trimMarks(text: string, marks: string): string {
  let [start, end] = [0, text.length];
  while (start < end && marks.includes(text[start]!)) start += 1;
  while (end > start && marks.includes(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}
