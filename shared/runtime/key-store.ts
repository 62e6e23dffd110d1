import { statSync } from 'node:fs';
import {
  type AccessKey,
  createAccessKey,
  type KeyRules,
  readAccessKeys,
  removeAccessKey,
} from './access-keys.ts';

export type KeyList = {
  /** The current keys, cheap enough for each request; the same array while none changes. @throws Refusal if unreadable */
  readonly list: () => Promise<readonly AccessKey[]>;
};

/** The access keys of a deployment, which may be changed. */
export type KeyStore = KeyList & {
  /** The secret is returned once and not stored. */
  readonly create: (
    name: string,
    rules: KeyRules,
  ) => Promise<{ readonly id: string; readonly secret: string }>;
  /** Revokes a key. False if no key has that id. */
  readonly remove: (id: string) => Promise<boolean>;
  /** where the hashes are, as text for messages */
  readonly place: string;
};

/** The access keys of a file. It is read again after each change, so a new key works immediately. */
export function openFileKeys(path: string): KeyStore {
  let stamp = '';
  let keys: readonly AccessKey[] = [];
  const stampNow = oncePerTick(() => stampOf(path));
  return {
    list: async () => {
      const stampThen = stampNow();
      if (stampThen !== stamp) {
        keys = await readAccessKeys(path);
        stamp = stampThen;
      }
      return keys;
    },
    create: (name, rules) => createAccessKey(path, name, rules),
    remove: (id) => removeAccessKey(path, id),
    place: path,
  };
}

/** Calls `look` at most once per tick of the event loop. */
function oncePerTick<Value>(look: () => Value): () => Value {
  let seen: { readonly value: Value } | undefined;
  const forget = () => {
    seen = undefined;
  };
  return () => {
    if (seen === undefined) {
      seen = { value: look() };
      setImmediate(forget);
    }
    return seen.value;
  };
}

/** Synchronous, because each request needs it: 2 µs, while an asynchronous call takes 50 times that. */
function stampOf(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? '' : `${file.mtimeMs}/${file.size}/${file.ino}`;
}
