import { createHmac } from 'node:crypto';
import { NO_KEY } from '../../../shared/runtime/known-keys.ts';

/**
 * The salt that separates the cached prompts of one access key from those of others, so that cache hits reveal nothing
 * about other callers. Undefined: the cache is shared. All callers without a key count as one.
 *
 * @param secret hides key ids from an upstream engine; the same on every replica
 */
export function createCacheSalts(
  secret: Uint8Array,
  isShared: boolean,
): (keyId: string) => string | undefined {
  const salts = new Map<string, string>();
  return (keyId) => {
    if (isShared || keyId === NO_KEY) return undefined;
    const existing = salts.get(keyId);
    if (existing !== undefined) return existing;
    const salt = createHmac('sha256', secret)
      .update(`clawloop cache salt\n${keyId}`)
      .digest('base64url')
      .slice(0, 22);
    salts.set(keyId, salt);
    return salt;
  };
}
