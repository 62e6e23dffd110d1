import { createHash } from 'node:crypto';
import { hintOf, type WishKind, wishes, wishesIn, wishKinds } from './wishes.ts';

/** Id for a complaint without a wish. */
export const NO_WISH = 'none';

/** Prefix for a wish in own words; a hash of the words follows. */
const OWN_WORDS = 'own:';

/** Ids of the wishes in a hint: known kinds, or one for own words, ignoring case and punctuation. */
export function wishIdsOf(hint: string): readonly string[] {
  const kinds = wishesIn(hint);
  if (kinds.length > 0) return kinds;
  const plain = hint
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  return [`${OWN_WORDS}${createHash('sha256').update(plain).digest('hex').slice(0, 12)}`];
}

/** Removes wishes from hints; a hint without any wish left is dropped. */
export function hintsWithout(hints: readonly string[], left: readonly string[]): readonly string[] {
  if (left.length === 0) return hints;
  return hints.flatMap((hint) => {
    const ids = wishIdsOf(hint);
    const kept = ids.filter((id) => !left.includes(id));
    if (kept.length === ids.length) return hint;
    return kept.length === 0 ? [] : hintOf(kept as readonly WishKind[]);
  });
}

/** Whether two wishes contradict each other. */
export const contradict = (one: string, other: string): boolean =>
  isKind(one) && (wishes[one].against as readonly string[]).includes(other);

const isKind = (id: string): id is WishKind => (wishKinds as readonly string[]).includes(id);
