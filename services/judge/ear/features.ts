import { lexicalEvidence } from '../judges/signals/evidence.ts';
import { conceptsOf } from './concepts.ts';
import { plainText, sentencesOf, wordsOf } from './text.ts';

/** The traits of one sentence, as distinct numbers. */
export type Unit = {
  readonly sentence: string;
  readonly traits: Uint32Array;
};

/** Lengths of the character n-grams that are traits. */
const PIECES = { spaced: { from: 3, to: 5 }, spaceless: { from: 2, to: 4 } };
const spaceless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/u;

/** The sentences of a person's words. Traits of rules exist only for English. */
export function unitsOf(words: string): readonly Unit[] {
  const sentences = sentencesOf(words);
  return sentences.map((sentence, index) => {
    const place = sentences.length === 1 ? 'only' : index === 0 ? 'first' : 'later';
    const traits = new Set<number>();
    for (const name of traitsOf(sentence, place)) traits.add(traitNamed(name));
    return { sentence, traits: Uint32Array.from(traits) };
  });
}

function* traitsOf(sentence: string, place: string): Generator<string> {
  const words = wordsOf(plainText(sentence));
  yield `p|${place}`;
  yield `n|${Math.min(8, Math.round(2 * Math.log2(words.length + 1)))}`;
  if (/[?？]\s*$/.test(sentence)) yield 'q|';
  if (/[!！]\s*$/.test(sentence)) yield 'e|';
  yield `f|${words[0]} ${words[1] ?? ''}`;
  yield `l|${words.at(-1)}`;
  for (const [index, word] of words.entries()) {
    yield `w|${word}`;
    if (index > 0) yield `b|${words[index - 1]} ${word}`;
    if (index > 1) yield `t|${words[index - 2]} ${words[index - 1]} ${word}`;
  }
  yield* meaningOf(words);
  yield* piecesOf(words);
  for (const { rule, weight } of lexicalEvidence(sentence)) {
    yield `r|${rule}`;
    yield `r|${Math.sign(weight)}`;
  }
}

/** Maximum concepts per sentence of which pairs are formed. */
const MOST_PAIRED = 14;

/** The concepts of a sentence in any language, and the number of words without a concept. */
function* meaningOf(words: readonly string[]): Generator<string> {
  const all = conceptsOf(words);
  const named = all.filter((name) => name !== undefined);
  const content = named.filter((name) => name !== 'fn');
  yield `u|${Math.min(6, all.length - named.length)}`;
  yield `m|${Math.min(8, content.length)}`;
  yield `k^${content[0]} ${content[1]}`;
  yield `k$${content.at(-1)}`;
  const paired = content.slice(0, MOST_PAIRED);
  for (const [index, name] of paired.entries()) {
    yield `k|${name}`;
    yield `k|${name}/${Math.min(3, all.length - named.length)}`;
    if (index > 0) yield `k2|${paired[index - 1]} ${name}`;
    if (index > 1) yield `k3|${paired[index - 2]} ${paired[index - 1]} ${name}`;
    for (const other of paired.slice(index + 1)) yield `k+|${[name, other].sort().join(' ')}`;
  }
}

function* piecesOf(words: readonly string[]): Generator<string> {
  const text = words
    .map((word) => (spaceless.test(word) ? word : ` ${word} `))
    .join('')
    .replace(/ {2}/g, ' ');
  for (let at = 0; at < text.length; at += 1) {
    const { from, to } = spaceless.test(text[at]!) ? PIECES.spaceless : PIECES.spaced;
    for (let length = from; length <= to && at + length <= text.length; length += 1)
      yield `g|${text.slice(at, at + length)}`;
  }
}

/** The source of a trait: place and rules, concepts, words, or characters. Stored in its last two bits. */
export const viewOf = (trait: number): number => trait & 3;

const views: Readonly<Record<string, number>> = { k: 1, u: 1, m: 1, w: 2, b: 2, t: 2, f: 2, l: 2, g: 3 };

const traitNamed = (name: string): number => ((hash(name) & ~3) | (views[name[0]!] ?? 0)) >>> 0;

/** FNV-1a, 32 bits. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
