/** A system text as a few numbers, which allow two texts to be compared without keeping either. */
export type SystemSketch = readonly number[];

const SIZE = 16;
/** Estimated share of common words above which two texts are the same text with, say, another date or model. */
const ALIKE = 0.5;

/** The smallest hashes of the text's distinct words (bottom-k sketch, Broder 1997; Cohen 1997). */
export function systemSketch(text: string): SystemSketch {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
  return [...words]
    .map(fnv1a)
    .sort((a, b) => a - b)
    .slice(0, SIZE);
}

export const isSameSketch = (one: SystemSketch, other: SystemSketch): boolean =>
  one.length === other.length && one.every((hash, i) => hash === other[i]);

/** Compares texts by the estimated Jaccard index of their words. Two texts without words are alike. */
export function isAlike(one: SystemSketch, other: SystemSketch): boolean {
  if (one.length === 0 || other.length === 0) return one.length === other.length;
  const [first, second] = [new Set(one), new Set(other)];
  const union = [...new Set([...one, ...other])].sort((a, b) => a - b).slice(0, SIZE);
  return union.filter((hash) => first.has(hash) && second.has(hash)).length >= ALIKE * union.length;
}

/** 32 bits: http://www.isthe.com/chongo/tech/comp/fnv */
export function fnv1a(word: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
