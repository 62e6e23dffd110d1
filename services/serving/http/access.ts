import {
  bearerOf,
  type KeyHolder,
  type KnownKeysOptions,
  NO_KEY,
  openKnownKeys,
} from '../../../shared/runtime/known-keys.ts';
import { ServingError } from '../errors.ts';
import { isSessionKey, readSessionKey, type SessionKey, writeSessionKey } from './session-key.ts';

export type Caller = KeyHolder & {
  /** id of the session key, which gives access to one session of the access key */
  readonly sessionKey?: string | undefined;
};

export type Access = {
  /**
   * Undefined: a key is required, but missing, wrong or expired. A session key has the limits of the access key that
   * opened its sessions, and becomes invalid with that key.
   */
  readonly callerOf: (authorization: string | undefined) => Promise<Caller | undefined>;
  readonly readSessionKey: (key: string) => SessionKey | undefined;
  readonly writeSessionKey: (key: SessionKey) => string;
  readonly needsKey: () => Promise<boolean>;
  /** @throws Refusal if the key file is unreadable; the other functions throw ServingError KEYS_UNREADABLE */
  readonly hasKey: () => Promise<boolean>;
};

export type AccessOptions = KnownKeysOptions & {
  /** signs session keys */
  readonly sessionSecret: Uint8Array;
};

/** Opens the access keys: who may send requests. */
export function openAccess({ sessionSecret, ...options }: AccessOptions): Access {
  const keys = openKnownKeys(options);
  const readable = <Value>(read: Promise<Value>): Promise<Value> =>
    read.catch((cause: unknown) => {
      throw Object.assign(ServingError.KEYS_UNREADABLE({ retryAfterSeconds: 5 }), { cause });
    });
  return {
    needsKey: async () => options.always || (await readable(keys.needsKey())),
    hasKey: keys.hasKey,
    callerOf: async (authorization) => {
      const anonymous = await readable(keys.anonymous());
      const secret = bearerOf(authorization);
      if (secret !== undefined && isSessionKey(secret)) {
        const key = readSessionKey(secret, sessionSecret);
        const holder =
          key?.keyId === NO_KEY ? anonymous : await readable(keys.holderWithId(key?.keyId ?? ''));
        return holder && { ...holder, sessionKey: key!.id };
      }
      if (anonymous !== undefined) return anonymous;
      return secret === undefined ? undefined : readable(keys.holderOf(secret));
    },
    readSessionKey: (key) => readSessionKey(key, sessionSecret),
    writeSessionKey: (key) => writeSessionKey(key, sessionSecret),
  };
}

/** @throws ServingError KEY_OF_ANOTHER_ADAPTER */
export function refuseUnserved(adapter: string, served: readonly string[]): void {
  if (!served.includes(adapter)) throw ServingError.KEY_OF_ANOTHER_ADAPTER({ adapter });
}
