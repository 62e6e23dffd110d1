import { pick, type Random } from './choose.ts';

/**
 * A sentence with alternatives in brackets: "(Please |)no (lists|bullet points)." Brackets do not nest. An expansion
 * begins with a capital.
 */
const groups = /\(([^)]*)\)/g;

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** One expansion, every alternative as likely as its neighbours. */
export const samplePattern = (random: Random, pattern: string): string =>
  capitalise(pattern.replace(groups, (_, alternatives: string) => pick(random, alternatives.split('|'))));

/** Every expansion. */
export function expandPattern(pattern: string): readonly string[] {
  const parts = pattern.split(groups); // text, alternatives, text, ...
  const texts = parts.reduce<readonly string[]>(
    (made, part, index) => {
      const alternatives = index % 2 === 0 ? [part] : part.split('|');
      return made.flatMap((text) => alternatives.map((alternative) => text + alternative));
    },
    [''],
  );
  return texts.map(capitalise);
}
