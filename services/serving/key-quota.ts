import type { KeyLimits } from '../../shared/service/access-keys.ts';
import type { Caller } from './access.ts';

export type KeyQuota = {
  /** Counts one request; where a limit is used up, says which and in how many seconds to come again. */
  readonly admit: (
    caller: Caller,
  ) => { readonly limit: string; readonly retryAfterSeconds: number } | undefined;
  /** What an answer to an admitted request took, known when it has ended. */
  readonly spend: (keyId: string, tokens: number) => void;
};

type Kind = keyof KeyLimits;
/** s in which a limit that was used up is whole again */
const periods: Readonly<Record<Kind, { readonly seconds: number; readonly of: string }>> = {
  requestsPerMinute: { seconds: 60, of: 'requests per minute' },
  tokensPerMinute: { seconds: 60, of: 'tokens per minute' },
  tokensPerDay: { seconds: 86_400, of: 'tokens per day' },
};
const kinds = Object.keys(periods) as readonly Kind[];

/** What is left of a limit, at a moment in ms. Below 0: an answer took more than was left. */
type Bucket = { readonly left: number; readonly at: number };

/**
 * The limits of each access key, as token buckets: full at first, refilled evenly. An answer's tokens are known
 * only when it ends, so a request is let in while anything is left, and what it takes too much delays the next.
 * Kept in this process alone: each replica counts for itself, and a restart begins anew.
 */
export function createKeyQuota(now: () => number): KeyQuota {
  const buckets = new Map<string, Bucket>();
  const admitted = new Map<string, KeyLimits>();
  const leftOf = (keyId: string, kind: Kind, limit: number): number => {
    const bucket = buckets.get(`${kind}/${keyId}`);
    if (bucket === undefined) return limit;
    return Math.min(limit, bucket.left + ((now() - bucket.at) / 1000) * rateOf(kind, limit));
  };
  const take = (keyId: string, kind: Kind, amount: number): void => {
    const limit = admitted.get(keyId)?.[kind];
    if (limit === undefined) return;
    buckets.set(`${kind}/${keyId}`, { left: leftOf(keyId, kind, limit) - amount, at: now() });
  };
  return {
    admit: ({ keyId, limits }) => {
      const waits = kinds.flatMap((kind) => {
        const limit = limits[kind];
        if (limit === undefined) return [];
        const missing = 1 - leftOf(keyId, kind, limit);
        if (missing <= 0) return [];
        const retryAfterSeconds = Math.ceil(missing / rateOf(kind, limit));
        return [{ limit: `${limit} ${periods[kind].of}`, retryAfterSeconds }];
      });
      if (waits.length > 0) return waits.sort((a, b) => b.retryAfterSeconds - a.retryAfterSeconds)[0];
      admitted.set(keyId, limits);
      take(keyId, 'requestsPerMinute', 1);
      return undefined;
    },
    spend: (keyId, tokens) => {
      take(keyId, 'tokensPerMinute', tokens);
      take(keyId, 'tokensPerDay', tokens);
    },
  };
}

/** per s */
const rateOf = (kind: Kind, limit: number): number => limit / periods[kind].seconds;
