/** Characters of a message, and of one of its sentences, that the ear reads. */
const MOST = { message: 2000, sentence: 400, sentences: 16 };

/** A mark that ends a sentence, with what closes behind it; a line end; or a picture. */
const sentenceEnd = /(?<=[.!?…。！？｡]["'”’»」)）]?)\s+|(?<=[。！？｡])|\n+/u;

/** The sentences of a person's words as they wrote them. Bounded, the first ones and the last ones. */
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

/** Lower case without accents, a repeated letter twice at most, one kind of apostrophe, each number `0`. */
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

/** Words; of scripts without spaces, characters. Marks that carry a tone are words of their own. */
export const wordsOf = (plain: string): readonly string[] => plain.match(token) ?? [];
