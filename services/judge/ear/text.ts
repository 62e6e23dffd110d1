/** Maximum characters of a message and of a sentence, and maximum sentences, that the ear reads. */
const MOST = { message: 2000, sentence: 400, sentences: 16 };

/** The end of a sentence: a final mark with a closing quote or bracket, or a line end. */
const sentenceEnd = /(?<=[.!?…。！？｡]["'”’»」)）]?)\s+|(?<=[。！？｡])|\n+/u;

/** The sentences of a person's words, as written; of many, the first and the last ones. */
export function sentencesOf(words: string): readonly string[] {
  const text = words.length <= MOST.message ? words : `${words.slice(0, 1500)}\n${words.slice(-500)}`;
  const sentences = text
    .split(sentenceEnd)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(sentence));
  if (sentences.length <= MOST.sentences) return sentences;
  const half = MOST.sentences / 2;
  return [...sentences.slice(0, half), ...sentences.slice(-half)];
}

/** Lower case, no accents, a repeated letter at most twice, one kind of apostrophe, each number as `0`. */
export const plainText = (text: string): string =>
  text
    .slice(0, MOST.sentence)
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/ß/g, 'ss')
    .replace(/(\p{L})\1{2,}/gu, '$1$1')
    .replace(/\p{N}+/gu, '0');

const token =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]|\p{Extended_Pictographic}|[\p{L}\p{M}\p{N}]+(?:'[\p{L}]+)*|[?!…]|:\)|:\(|;\)/gu;

/** Words; characters in scripts without spaces. Marks of tone such as `!` and `:)` are words too. */
export const wordsOf = (plain: string): readonly string[] => plain.match(token) ?? [];
