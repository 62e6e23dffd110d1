import { parseJson } from '../lang/json.ts';
import { AccessKey } from './access-keys.ts';

/** An entry of the topic that holds the access keys of several hosts; null: removed. */
type KeyEntry = { readonly name: string; readonly value: string | null };

/**
 * Two entries per key: one holds the key, the other says that it was removed and stays. A removed key stays removed
 * whatever the order, so a host that adds the keys of an old file cannot bring it back.
 */
const KEY = 'key/';
const REMOVED = 'removed/';

export const entryOfKey = (key: AccessKey): KeyEntry => ({
  name: `${KEY}${key.id}`,
  value: JSON.stringify(key),
});

export const entriesOfRemoval = (id: string, at: string): readonly KeyEntry[] => [
  { name: `${REMOVED}${id}`, value: JSON.stringify({ at }) },
  { name: `${KEY}${id}`, value: null },
];

/** A rule that this version does not know might restrict the key. */
const StoredKey = AccessKey.strict();

/** A key that cannot be read opens nothing, but keeps the server from answering callers without a key. */
const unreadable = (id: string): AccessKey => ({
  id,
  name: '(not readable by this version)',
  sha256: '0'.repeat(64),
  createdAt: '1970-01-01T00:00:00.000Z',
  expiresAt: '1970-01-01T00:00:00.000Z',
});

export type KeyEntries = {
  readonly apply: (entry: KeyEntry) => void;
  /** The keys that are not removed; the same array while none changes. */
  readonly list: () => readonly AccessKey[];
  /** Whether there is or was a key with this id. */
  readonly knows: (id: string) => boolean;
};

/** The access keys after all entries so far, which may be applied again. */
export function createKeyEntries(): KeyEntries {
  const keys = new Map<string, AccessKey>();
  const removed = new Set<string>();
  let listed: readonly AccessKey[] = [];
  return {
    apply: ({ name, value }) => {
      if (name.startsWith(REMOVED) && value !== null) {
        const id = name.slice(REMOVED.length);
        removed.add(id);
        keys.delete(id);
      } else if (name.startsWith(KEY) && value !== null) {
        const id = name.slice(KEY.length);
        if (removed.has(id)) return;
        const stored = StoredKey.safeParse(parseJson(value));
        keys.set(id, stored.success && stored.data.id === id ? stored.data : unreadable(id));
      } else return; // a key's entry ends only with its removal
      listed = [...keys.values()];
    },
    list: () => listed,
    knows: (id) => keys.has(id) || removed.has(id),
  };
}
