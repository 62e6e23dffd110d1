import { timingSafeEqual } from 'node:crypto';
import { defined } from '../lang/defined.ts';
import { type AccessKey, hashOfKey, type KeyLimits } from './access-keys.ts';
import type { KeyList } from './key-store.ts';

/** Key ids of callers without a key of `clawloop keys`. */
export const NO_KEY = 'local';
export const CONFIGURED_KEY = 'configured';

export type KeyHolder = {
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** the only adapter that the key may use; default: any */
  readonly adapter?: string | undefined;
  /** whether the key is an operator's */
  readonly operator?: boolean | undefined;
};

/**
 * An operator may see what everybody said and change what is served. Without keys, this is everybody on the
 * machine. The configured key belongs to the person who runs the server. A key of one adapter is never an operator's.
 */
export const isOperator = ({ keyId, operator, adapter }: KeyHolder): boolean =>
  keyId === NO_KEY || keyId === CONFIGURED_KEY || (operator === true && adapter === undefined);

type KnownKey = {
  readonly hash: Buffer;
  readonly holder: KeyHolder;
  /** ms since 1970 */
  readonly expiresAt: number;
};

/** All functions reject with a Refusal if the keys are unreadable. */
export type KnownKeys = {
  readonly hasKey: () => Promise<boolean>;
  readonly needsKey: () => Promise<boolean>;
  /** The holder of no key; undefined: a key is required. */
  readonly anonymous: () => Promise<KeyHolder | undefined>;
  /** Undefined: wrong or expired. */
  readonly holderOf: (secret: string) => Promise<KeyHolder | undefined>;
  /** Undefined: removed or expired. */
  readonly holderWithId: (keyId: string) => Promise<KeyHolder | undefined>;
};

export type KnownKeysOptions = {
  readonly keys: KeyList;
  /** The key from the settings. */
  readonly configured: string | undefined;
  /** Whether a key is required even if none exists. */
  readonly always: boolean;
  /** ms since 1970; default: the system clock */
  readonly now?: () => number;
};

/** The access keys of a deployment and of the settings. */
export function openKnownKeys({ keys, configured, always, now = Date.now }: KnownKeysOptions): KnownKeys {
  const fromSettings: readonly KnownKey[] =
    configured === undefined
      ? []
      : [
          {
            hash: hashOfKey(configured),
            holder: { keyId: CONFIGURED_KEY, limits: {} },
            expiresAt: Number.POSITIVE_INFINITY,
          },
        ];
  let listed: readonly AccessKey[] | undefined;
  let known: readonly KnownKey[] = fromSettings;
  const readKeys = async () => {
    const current = await keys.list();
    if (current !== listed) {
      known = [...current.map(knownKey), ...fromSettings];
      listed = current;
    }
    return known;
  };
  const isValid = ({ expiresAt }: KnownKey) => now() < expiresAt;
  return {
    hasKey: async () => (await readKeys()).length > 0,
    needsKey: async () => always || (await readKeys()).length > 0,
    anonymous: async () =>
      (await readKeys()).length === 0 && !always ? { keyId: NO_KEY, limits: {} } : undefined,
    holderOf: async (secret) => {
      const hash = hashOfKey(secret);
      return (await readKeys()).find((key) => timingSafeEqual(key.hash, hash) && isValid(key))?.holder;
    },
    holderWithId: async (keyId) =>
      (await readKeys()).find((key) => key.holder.keyId === keyId && isValid(key))?.holder,
  };
}

/** The key in a header of the form `Bearer <key>`. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];

function knownKey({
  id,
  sha256,
  adapter,
  operator,
  requestsPerMinute,
  tokensPerMinute,
  tokensPerDay,
  expiresAt,
}: AccessKey): KnownKey {
  const limits = { requestsPerMinute, tokensPerMinute, tokensPerDay };
  return {
    hash: Buffer.from(sha256, 'hex'),
    holder: { keyId: id, limits, adapter, ...defined({ operator }) },
    expiresAt: expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
  };
}
