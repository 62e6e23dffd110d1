import { createHmac } from 'node:crypto';
import { NO_KEY } from './access.ts';

/**
 * What an engine tells the prompts of one access key from those of others by, so that nobody learns from its
 * cache what somebody else said. Undefined: all share the cache. Callers without a key are one caller.
 *
 * @param secret so that an engine elsewhere learns no ids of keys; the same on every replica
 */
export function createCacheSalts(
  secret: Uint8Array,
  isShared: boolean,
): (keyId: string) => string | undefined {
  const salts = new Map<string, string>();
  return (keyId) => {
    if (isShared || keyId === NO_KEY) return undefined;
    const known = salts.get(keyId);
    if (known !== undefined) return known;
    const salt = createHmac('sha256', secret)
      .update(`clawloop cache salt\n${keyId}`)
      .digest('base64url')
      .slice(0, 22);
    salts.set(keyId, salt);
    return salt;
  };
}
