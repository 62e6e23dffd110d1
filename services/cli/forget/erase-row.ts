import { ERASED } from '../../../shared/events/without-words.ts';
import type { PlacedRow } from '../../../shared/log/log-contents.ts';
import type { Selection } from './selection.ts';

/** Tables whose rows only recognise words of a session, by their hashes: a dictionary would give the words back. */
const recognisers: ReadonlySet<string> = new Set([
  ...['known', 'shown', 'answered', 'aside', 'first-prompt', 'summary', 'summed', 'said', 'trace', 'user'],
]);

/** The row without words of the selection; null: it goes; undefined: it has none of them. */
export function rowWithout({ key, row }: PlacedRow, selection: Selection): string | null | undefined {
  const [table = '', owner] = key.split('/');
  const value = JSON.parse(row) as unknown;
  const isOfKey = owner === encodeURIComponent(selection.target.key.toWellFormed());
  if (table === 'first-request') return isOfKey ? kept(value, selection) : undefined;
  if (recognisers.has(table)) return isOfKey && isOfSession(value, selection) ? null : undefined;
  if (!selection.isNamedIn(key) && !selection.isNamedIn(row)) return undefined;
  const erased = JSON.stringify(value, withoutWords);
  return erased === row ? undefined : erased;
}

/** First requests of a key: one row for all its sessions. */
function kept(value: unknown, { turns, sessions }: Selection): string | undefined {
  const all = value as readonly { readonly id: string; readonly session: string }[];
  const others = all.filter(({ id, session }) => !turns.has(id) && !sessions.has(session));
  return others.length === all.length ? undefined : JSON.stringify(others);
}

/** A hash that two sessions share is of neither, so a row goes with the first of them. */
const isOfSession = (value: unknown, { sessions }: Selection): boolean =>
  [value, (value as { readonly session?: unknown } | null)?.session]
    .flat()
    .some((session) => typeof session === 'string' && sessions.has(session));

/** For `JSON.stringify`. */
function withoutWords(field: string, value: unknown): unknown {
  switch (field) {
    case 'hint':
    case 'comment':
      return typeof value === 'string' ? ERASED : value;
    case 'hints':
      if (Array.isArray(value)) return value.length === 0 ? [] : [ERASED];
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([index, hint]) => [index, hint === null ? null : ERASED]),
      );
    default:
      return value;
  }
}
