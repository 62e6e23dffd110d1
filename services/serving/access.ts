import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import {
  type AccessKey,
  hashOfKey,
  type KeyLimits,
  readAccessKeys,
} from '../../shared/service/access-keys.ts';

/** Ids of the callers that no key of the file stands for. */
export const NO_KEY = 'local';
export const CONFIGURED_KEY = 'configured';

export type Caller = {
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** the only one that the key opens; any unless told */
  readonly adapter?: string | undefined;
};

type KnownKey = { readonly hash: Buffer; readonly caller: Caller };

export type Access = {
  /** Undefined: a key is needed, and it is missing or wrong. */
  readonly callerOf: (authorization: string | undefined) => Promise<Caller | undefined>;
  readonly needsKey: () => Promise<boolean>;
  /** Throws when the file of keys is malformed. */
  readonly hasKey: () => Promise<boolean>;
};

export type AccessOptions = {
  /** Of the file of keys. It is read again when it changed, so that a new key works at once. */
  readonly path: string;
  /** A key out of the settings. */
  readonly configured: string | undefined;
  /** True: nobody passes without a key, even when there is none any more. */
  readonly always: boolean;
};

/** Who may ask. */
export function openAccess({ path, configured, always }: AccessOptions): Access {
  let stamp = '';
  let keys: readonly KnownKey[] = [];
  const known = async () => {
    const now = await stat(path).then(
      (file) => `${file.mtimeMs}/${file.size}/${file.ino}`,
      () => '',
    );
    if (now !== stamp) {
      keys = (await readAccessKeys(path)).map(knownKey);
      stamp = now;
    }
    return configured === undefined
      ? keys
      : [...keys, { hash: hashOfKey(configured), caller: { keyId: CONFIGURED_KEY, limits: {} } }];
  };
  return {
    needsKey: async () => always || (await known()).length > 0,
    hasKey: async () => (await known()).length > 0,
    callerOf: async (authorization) => {
      const all = await known();
      if (all.length === 0 && !always) return { keyId: NO_KEY, limits: {} };
      const secret = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      if (secret === undefined) return undefined;
      const hash = hashOfKey(secret);
      return all.find((key) => timingSafeEqual(key.hash, hash))?.caller;
    },
  };
}

function knownKey({
  id,
  sha256,
  adapter,
  requestsPerMinute,
  tokensPerMinute,
  tokensPerDay,
}: AccessKey): KnownKey {
  const limits = { requestsPerMinute, tokensPerMinute, tokensPerDay };
  return { hash: Buffer.from(sha256, 'hex'), caller: { keyId: id, limits, adapter } };
}
