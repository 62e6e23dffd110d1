import { createHash } from 'node:crypto';
import { hintOf, type WishKind, wishes, wishesIn, wishKinds } from './wishes.ts';

/** Of a complaint that says no wish. */
export const NO_WISH = 'none';

/** What a wish in other words than those of the table begins with; a hash of the words follows. */
const OWN = 'own:';

/** Names of the wishes that a hint says: kinds of the table, or one for the words of a person, whatever their case and marks. */
export function wishIdsOf(hint: string): readonly string[] {
  const kinds = wishesIn(hint);
  if (kinds.length > 0) return kinds;
  const plain = hint
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  return [`${OWN}${createHash('sha256').update(plain).digest('hex').slice(0, 12)}`];
}

/** The hints without some wishes; those of which nothing is left are gone. */
export function hintsWithout(hints: readonly string[], left: readonly string[]): readonly string[] {
  if (left.length === 0) return hints;
  return hints.flatMap((hint) => {
    const ids = wishIdsOf(hint);
    const kept = ids.filter((id) => !left.includes(id));
    if (kept.length === ids.length) return hint;
    return kept.length === 0 ? [] : hintOf(kept as readonly WishKind[]);
  });
}

/** Whether two wishes cannot both be met. */
export const contradict = (one: string, other: string): boolean =>
  isKind(one) && (wishes[one].against as readonly string[]).includes(other);

const isKind = (id: string): id is WishKind => (wishKinds as readonly string[]).includes(id);
