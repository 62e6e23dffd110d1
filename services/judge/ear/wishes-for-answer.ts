import type { WishKind } from '../../../shared/wishes/wishes.ts';
import { type PlainForm, plainForms, unmetBy } from '../plain-forms.ts';
import type { Heard } from './model.ts';

/** Wishes of which every answer meets one and misses the other. */
const opposites: readonly (readonly [PlainForm, PlainForm])[] = [
  ['list', 'no-list'],
  ['greeting', 'no-greeting'],
  ['closing', 'no-closing'],
];

/**
 * What a complaint about this answer can mean. Nobody complains that an answer lacks what it has: a wish that its
 * characters plainly meet was misheard. The ear confuses a wish with its opposite more often than with another wish, so
 * the opposite gets its probability.
 */
export function wishesForAnswer(wishes: Heard['wishes'], answer: string): Heard['wishes'] {
  if (answer.trim() === '') return wishes;
  const unmet: readonly WishKind[] = unmetBy(answer);
  const possible: Record<WishKind, number> = { ...wishes };
  for (const met of plainForms.filter((kind) => !unmet.includes(kind))) possible[met] = 0;
  for (const [one, other] of opposites) {
    if (unmet.includes(one) === unmet.includes(other)) continue;
    const missed = unmet.includes(one) ? one : other;
    possible[missed] = Math.min(1, wishes[one] + wishes[other]);
  }
  return possible;
}
