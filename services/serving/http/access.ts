import { timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import {
  type AccessKey,
  hashOfKey,
  type KeyLimits,
  readAccessKeys,
} from '../../../shared/runtime/access-keys.ts';
import { ServingError } from '../errors.ts';
import { isSessionKey, readSessionKey, type SessionKey, writeSessionKey } from './session-key.ts';

/** Key ids of callers without a key from the key file. */
export const NO_KEY = 'local';
export const CONFIGURED_KEY = 'configured';

export type Caller = {
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** the only adapter that the key may use; default: any */
  readonly adapter?: string | undefined;
  /** id of the session key, which gives access to one session of the access key */
  readonly sessionKey?: string | undefined;
};

type KnownKey = {
  readonly hash: Buffer;
  readonly caller: Caller;
  /** ms since 1970 */
  readonly expiresAt: number;
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

export type AccessOptions = {
  /** The key file. It is read again after each change, so a new key works immediately. */
  readonly path: string;
  /** The key from the settings. */
  readonly configured: string | undefined;
  /** Whether a key is required even if none exists. */
  readonly always: boolean;
  /** signs session keys */
  readonly sessionSecret: Uint8Array;
  /** ms since 1970; default: the system clock */
  readonly now?: () => number;
};

/** Opens the access keys: who may send requests. */
export function openAccess({
  path,
  configured,
  always,
  sessionSecret,
  now = Date.now,
}: AccessOptions): Access {
  const configuredHash = configured === undefined ? undefined : hashOfKey(configured);
  const configuredCaller: Caller = { keyId: CONFIGURED_KEY, limits: {} };
  let stamp = '';
  let keys: readonly KnownKey[] = [];
  const stampNow = oncePerTick(() => stampOf(path));
  const readKeys = async () => {
    const stampThen = stampNow();
    if (stampThen !== stamp) {
      keys = (await readAccessKeys(path)).map(knownKey);
      stamp = stampThen;
    }
    return configured === undefined
      ? keys
      : [...keys, { hash: configuredHash!, caller: configuredCaller, expiresAt: Number.POSITIVE_INFINITY }];
  };
  const requireKeys = () =>
    readKeys().catch((cause: unknown) => {
      throw Object.assign(ServingError.KEYS_UNREADABLE({ retryAfterSeconds: 5 }), { cause });
    });
  return {
    needsKey: async () => always || (await requireKeys()).length > 0,
    hasKey: async () => (await readKeys()).length > 0,
    callerOf: async (authorization) => {
      const allKeys = await requireKeys();
      const secret = bearerOf(authorization);
      const anonymous = allKeys.length === 0 && !always ? { keyId: NO_KEY, limits: {} } : undefined;
      if (secret !== undefined && isSessionKey(secret)) {
        const key = readSessionKey(secret, sessionSecret);
        const keyCaller =
          key?.keyId === NO_KEY
            ? anonymous
            : allKeys.find(({ caller, expiresAt }) => caller.keyId === key?.keyId && now() < expiresAt)
                ?.caller;
        return keyCaller && { ...keyCaller, sessionKey: key!.id };
      }
      if (anonymous !== undefined) return anonymous;
      if (secret === undefined) return undefined;
      const hash = hashOfKey(secret);
      return allKeys.find((key) => timingSafeEqual(key.hash, hash) && now() < key.expiresAt)?.caller;
    },
    readSessionKey: (key) => readSessionKey(key, sessionSecret),
    writeSessionKey: (key) => writeSessionKey(key, sessionSecret),
  };
}

/** The key in a header of the form `Bearer <key>`. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];

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

/** @throws ServingError KEY_OF_ANOTHER_ADAPTER */
export function refuseUnserved(adapter: string, served: readonly string[]): void {
  if (!served.includes(adapter)) throw ServingError.KEY_OF_ANOTHER_ADAPTER({ adapter });
}

/** Synchronous, because each request needs it: 2 µs, while an asynchronous call takes 50 times that. */
function stampOf(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? '' : `${file.mtimeMs}/${file.size}/${file.ino}`;
}

function knownKey({
  id,
  sha256,
  adapter,
  requestsPerMinute,
  tokensPerMinute,
  tokensPerDay,
  expiresAt,
}: AccessKey): KnownKey {
  const limits = { requestsPerMinute, tokensPerMinute, tokensPerDay };
  return {
    hash: Buffer.from(sha256, 'hex'),
    caller: { keyId: id, limits, adapter },
    expiresAt: expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
  };
}
