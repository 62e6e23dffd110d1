import { readFileSync } from 'node:fs';
import { plainText, wordsOf } from './text.ts';

type Step = { name?: string; readonly next: Map<string, Step> };
type Lexicon = { readonly whole: Step; readonly beginnings: ReadonlyMap<string, string> };

/** Length of the word beginnings that name a concept. Characters. */
const BEGINNING = { from: 3, to: 14 };

/** The concepts that a sentence names, in order; undefined for a word without a concept. */
export function conceptsOf(words: readonly string[]): readonly (string | undefined)[] {
  const { whole, beginnings } = lexicon();
  const concepts: (string | undefined)[] = [];
  for (let at = 0; at < words.length; ) {
    const { name, length } = longestMatch(whole, words, at);
    concepts.push(name ?? beginningOf(beginnings, words[at]!));
    at += length;
  }
  return concepts;
}

function longestMatch(
  whole: Step,
  words: readonly string[],
  from: number,
): { readonly name: string | undefined; readonly length: number } {
  let step: Step | undefined = whole;
  let best: { name: string | undefined; length: number } = { name: undefined, length: 1 };
  for (let at = from; at < words.length; at += 1) {
    step = step.next.get(words[at]!);
    if (step === undefined) break;
    if (step.name !== undefined) best = { name: step.name, length: at - from + 1 };
  }
  return best;
}

function beginningOf(beginnings: Lexicon['beginnings'], word: string): string | undefined {
  for (let length = Math.min(word.length, BEGINNING.to); length >= BEGINNING.from; length -= 1) {
    const name = beginnings.get(word.slice(0, length));
    if (name !== undefined) return name;
  }
  return undefined;
}

let cached: Lexicon | undefined;
function lexicon(): Lexicon {
  cached ??= parse(readFileSync(new URL('./concepts.txt', import.meta.url), 'utf8'));
  return cached;
}

/** Each line has a name and its words. A word in two lines belongs to the first. */
function parse(text: string): Lexicon {
  const whole: Step = { next: new Map() };
  const beginnings = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const [name, ...entries] = line.trim().split(/\s+/);
    for (const entry of entries) {
      const plain = plainText(entry.replace(/[_*]/g, ' ')).trim();
      if (entry.endsWith('*')) {
        if (!beginnings.has(plain)) beginnings.set(plain, name!);
        continue;
      }
      let step = whole;
      for (const word of wordsOf(plain)) {
        const next: Step = step.next.get(word) ?? { next: new Map() };
        step.next.set(word, next);
        step = next;
      }
      step.name ??= name!;
    }
  }
  return { whole, beginnings };
}
