import { wishMet } from '../../shared/wishes/measure.ts';
import type { WishKind } from '../../shared/wishes/wishes.ts';

/**
 * Wishes that the characters of an answer plainly meet or not. Code and markdown are left out: they depend on
 * the subject, and a person who complains about wrong code does not want it to look different.
 */
export const plainForms = [
  ...(['no-list', 'list', 'no-greeting', 'greeting', 'no-closing', 'closing'] as const),
  ...(['one-sentence', 'no-apology', 'no-emoji', 'no-questions'] as const),
] satisfies readonly WishKind[];
export type PlainForm = (typeof plainForms)[number];

/** Characters that are read at each end of a long answer. */
const READ = { begin: 4000, end: 400 };
const bounded = (answer: string): string =>
  answer.length <= READ.begin + READ.end
    ? answer
    : `${answer.slice(0, READ.begin)}\n${answer.slice(-READ.end)}`;

/** The plain forms that an answer does not have. */
export function unmetBy(answer: string): readonly PlainForm[] {
  const text = bounded(answer);
  return plainForms.filter((kind) => wishMet(kind, text)! <= 0.5);
}

/** The plain forms among the kinds that an event lists. */
export const plainFormsIn = (kinds: readonly string[]): readonly PlainForm[] =>
  plainForms.filter((kind) => kinds.includes(kind));
