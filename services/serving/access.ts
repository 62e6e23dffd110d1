import { timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import {
  type AccessKey,
  hashOfKey,
  type KeyLimits,
  readAccessKeys,
} from '../../shared/service/access-keys.ts';
import { ServingError } from './errors.ts';
import { isSessionKey, readSessionKey, type SessionKey, writeSessionKey } from './rl/session-key.ts';

/** Ids of the callers that no key of the file stands for. */
export const NO_KEY = 'local';
export const CONFIGURED_KEY = 'configured';

export type Caller = {
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** the only one that the key opens; any unless told */
  readonly adapter?: string | undefined;
  /** id of the session key that was shown: it speaks for one session of that access key, and no more */
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
   * Undefined: a key is needed, and it is missing, wrong or expired. A session key has the limits of the access key
   * that opened its sessions, and opens nothing when that one is gone.
   */
  readonly callerOf: (authorization: string | undefined) => Promise<Caller | undefined>;
  readonly readSessionKey: (key: string) => SessionKey | undefined;
  readonly writeSessionKey: (key: SessionKey) => string;
  readonly needsKey: () => Promise<boolean>;
  /** @throws Refusal where the file of keys cannot be read; the others throw ServingError KEYS_UNREADABLE */
  readonly hasKey: () => Promise<boolean>;
};

export type AccessOptions = {
  /** Of the file of keys. It is read again when it changed, so that a new key works at once. */
  readonly path: string;
  /** A key out of the settings. */
  readonly configured: string | undefined;
  /** True: nobody passes without a key, even when there is none any more. */
  readonly always: boolean;
  /** what session keys are signed with */
  readonly sessionSecret: Uint8Array;
  /** ms since 1970; the system's clock unless told */
  readonly now?: () => number;
};

/** Who may ask. */
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
  const stampNow = oncePerTurn(() => stampOf(path));
  const known = async () => {
    const stampThen = stampNow();
    if (stampThen !== stamp) {
      keys = (await readAccessKeys(path)).map(knownKey);
      stamp = stampThen;
    }
    return configured === undefined
      ? keys
      : [...keys, { hash: configuredHash!, caller: configuredCaller, expiresAt: Number.POSITIVE_INFINITY }];
  };
  const knownNow = () =>
    known().catch((cause: unknown) => {
      throw Object.assign(ServingError.KEYS_UNREADABLE({ retryAfterSeconds: 5 }), { cause });
    });
  return {
    needsKey: async () => always || (await knownNow()).length > 0,
    hasKey: async () => (await known()).length > 0,
    callerOf: async (authorization) => {
      const all = await knownNow();
      const secret = bearerOf(authorization);
      const nobody = all.length === 0 && !always ? { keyId: NO_KEY, limits: {} } : undefined;
      if (secret !== undefined && isSessionKey(secret)) {
        const key = readSessionKey(secret, sessionSecret);
        const holder =
          key?.keyId === NO_KEY
            ? nobody
            : all.find(({ caller, expiresAt }) => caller.keyId === key?.keyId && now() < expiresAt)?.caller;
        return holder && { ...holder, sessionKey: key!.id };
      }
      if (nobody !== undefined) return nobody;
      if (secret === undefined) return undefined;
      const hash = hashOfKey(secret);
      return all.find((key) => timingSafeEqual(key.hash, hash) && now() < key.expiresAt)?.caller;
    },
    readSessionKey: (key) => readSessionKey(key, sessionSecret),
    writeSessionKey: (key) => writeSessionKey(key, sessionSecret),
  };
}

/** The key in a header of the form `Bearer <key>`. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];

/** What comes together, and one request that asks more than once, needs one look. */
function oncePerTurn<Value>(look: () => Value): () => Value {
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

/** Asked for at each request: a call of 2 µs, where the way to another thread takes fifty times that. */
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
