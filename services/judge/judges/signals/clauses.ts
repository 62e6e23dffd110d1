/** A piece of a sentence, as the person wrote it and as the rules read it. */
export type Clause = {
  /** lower case, contractions spelled out, no punctuation at its ends */
  readonly text: string;
  /** the sentence it stands in, as written */
  readonly sentence: string;
  /** it begins with, or follows, a word like "but" */
  readonly contrast: boolean;
};

/** More than this of a message is material, not reaction. Characters from each end. */
const READ_FROM_START = 600;
const READ_FROM_END = 300;

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

/** What the person says, cut into clauses. Code, quotations and quoted lines are not their own words. */
export function clausesOf(message: string): readonly Clause[] {
  return sentencesOf(ownWords(message)).flatMap((sentence) => {
    let contrast = false;
    return sentence
      .split(/[,;:()]|\s[-–—]+\s|—|(?=\b(?:but|however|although|except)\b)/i)
      .map((piece) => {
        const text = normalise(piece);
        contrast = contrast || CONTRAST.test(text);
        return { text: text.replace(/^(?:but|however|although|though)\s+/, ''), sentence, contrast };
      })
      .filter(({ text }) => text !== '');
  });
}

function ownWords(message: string): string {
  const spoken = message
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .replace(/^\s*>.*$/gm, '')
    .replace(/`[^`\n]*`/g, ' ')
    .replace(/[“„«][^“”«»]*[”»]/g, ' ')
    .replace(/(?<![\p{L}\p{N}])"[^"\n]*"/gu, ' ')
    .replace(/(?<![\p{L}\p{N}])['‘][^'’\n]+['’](?![\p{L}\p{N}])/gu, ' ');
  if (spoken.length <= READ_FROM_START + READ_FROM_END) return spoken;
  return `${spoken.slice(0, READ_FROM_START)}\n${spoken.slice(-READ_FROM_END)}`;
}

const sentencesOf = (text: string): readonly string[] =>
  [...text.matchAll(/[^.!?…\n]+(?:[.!?…]+|\n|$)|[\p{Extended_Pictographic}]+/gu)]
    .map(([sentence]) => sentence.trim())
    .filter((sentence) => sentence !== '');

/** Lower case, straight apostrophes, contractions spelled out, single spaces. */
export function normalise(text: string): string {
  let plain = text.toLowerCase().replace(/[’‘ʼ]/g, "'");
  for (const [short, long] of contractions) plain = plain.replace(short, long);
  return plain
    .replace(/[^\p{L}\p{N}\p{Extended_Pictographic}'+\s-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[\s'-]+|[\s'-]+$/g, '');
}
