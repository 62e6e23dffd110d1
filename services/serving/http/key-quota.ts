import type { KeyLimits } from '../../../shared/runtime/access-keys.ts';
import type { Caller } from './access.ts';

/** The limit that is used up, and the time until a retry. */
type UsedUp = { readonly limit: string; readonly retryAfterSeconds: number };

export type KeyQuota = {
  /**
   * Counts one request for an answer, and reserves tokens until the answer's actual tokens are known.
   */
  readonly admit: (caller: Caller, tokens?: number) => UsedUp | undefined;
  /** Counts any other request. */
  readonly admitOther: (caller: Caller) => UsedUp | undefined;
  /** Checks the limit of refused requests before a request for an answer is read. Counts nothing. */
  readonly admitUnread: (caller: Caller) => UsedUp | undefined;
  /** Counts a request for an answer that was refused after reading it. */
  readonly refused: (caller: Caller) => void;
  /** Tokens that an admitted answer used beyond its reservation; negative: unused tokens. */
  readonly spend: (keyId: string, tokens: number) => void;
};

type Kind = keyof KeyLimits | 'otherRequestsPerMinute' | 'refusedPerMinute';
type Limits = { readonly [Name in Kind]?: number | undefined };
/** s until a used-up limit is completely refilled */
const periods: Readonly<Record<Kind, { readonly seconds: number; readonly of: string }>> = {
  requestsPerMinute: { seconds: 60, of: 'requests per minute' },
  otherRequestsPerMinute: { seconds: 60, of: 'requests per minute other than for answers' },
  refusedPerMinute: { seconds: 60, of: 'refused requests per minute' },
  tokensPerMinute: { seconds: 60, of: 'tokens per minute' },
  tokensPerDay: { seconds: 86_400, of: 'tokens per day' },
};
const ofTokens = ['tokensPerMinute', 'tokensPerDay'] as const;

/** For each answer, a client may retrieve, rate and count it, and start and end its session. */
const OTHERS_PER_ANSWER = 4;

/** The remainder of a limit at a time in ms. Negative: an answer used more than was left. */
type Bucket = { readonly left: number; readonly at: number };

/**
 * The limits of each access key as token buckets, full at first and refilled evenly. Tokens beyond a reservation delay
 * the next answer. The buckets are in memory: each replica counts separately, and a restart resets them.
 *
 * @param otherRequestsPerMinute for keys without their own limit of requests
 */
export function createKeyQuota(
  now: () => number,
  otherRequestsPerMinute: number = Number.POSITIVE_INFINITY,
): KeyQuota {
  const buckets = new Map<string, Bucket>();
  const admitted = new Map<string, Limits>();
  const leftOf = (keyId: string, kind: Kind, limit: number): number => {
    const bucket = buckets.get(`${kind}/${keyId}`);
    if (bucket === undefined) return limit;
    return Math.min(limit, bucket.left + ((now() - bucket.at) / 1000) * rateOf(kind, limit));
  };
  const take = (keyId: string, kind: Kind, amount: number): void => {
    const limit = admitted.get(keyId)?.[kind];
    if (limit === undefined || amount === 0) return;
    buckets.set(`${kind}/${keyId}`, { left: leftOf(keyId, kind, limit) - amount, at: now() });
  };
  const takeTokens = (keyId: string, tokens: number): void => {
    for (const kind of ofTokens) take(keyId, kind, tokens);
  };
  const limitsOf = ({ limits }: Caller): Limits => {
    const others =
      limits.requestsPerMinute === undefined
        ? otherRequestsPerMinute
        : OTHERS_PER_ANSWER * limits.requestsPerMinute;
    return { ...limits, otherRequestsPerMinute: others, refusedPerMinute: others };
  };
  /** The limit with the longest wait until the demand fits; a demand above the limit needs a full bucket. */
  const findUsedUp = (keyId: string, limits: Limits, demand: Limits): UsedUp | undefined => {
    const waits = (Object.keys(demand) as readonly Kind[]).flatMap((kind): readonly UsedUp[] => {
      const limit = limits[kind];
      if (limit === undefined || !Number.isFinite(limit)) return [];
      const missing = Math.min(demand[kind]!, limit) - leftOf(keyId, kind, limit);
      if (missing <= 0) return [];
      const retryAfterSeconds = Math.ceil(missing / rateOf(kind, limit));
      return [{ limit: `${limit} ${periods[kind].of}`, retryAfterSeconds }];
    });
    return waits.sort((a, b) => b.retryAfterSeconds - a.retryAfterSeconds)[0];
  };
  return {
    admit: (caller, tokens = 0) => {
      const { keyId } = caller;
      const limits = limitsOf(caller);
      const atLeast = Math.max(1, tokens);
      const demand = { requestsPerMinute: 1, tokensPerMinute: atLeast, tokensPerDay: atLeast };
      const usedUp = findUsedUp(keyId, limits, demand);
      if (usedUp !== undefined) return usedUp;
      admitted.set(keyId, limits);
      take(keyId, 'requestsPerMinute', 1);
      takeTokens(keyId, tokens);
      return undefined;
    },
    admitOther: (caller) => {
      const { keyId } = caller;
      const limits = limitsOf(caller);
      const usedUp = findUsedUp(keyId, limits, { otherRequestsPerMinute: 1 });
      if (usedUp !== undefined) return usedUp;
      admitted.set(keyId, limits);
      if (Number.isFinite(limits.otherRequestsPerMinute)) take(keyId, 'otherRequestsPerMinute', 1);
      return undefined;
    },
    admitUnread: (caller) => findUsedUp(caller.keyId, limitsOf(caller), { refusedPerMinute: 1 }),
    refused: (caller) => {
      const { keyId } = caller;
      const limits = limitsOf(caller);
      admitted.set(keyId, limits);
      // Requests that were read at the same time must not run up a debt.
      const limit = limits.refusedPerMinute ?? Number.POSITIVE_INFINITY;
      if (Number.isFinite(limit))
        take(keyId, 'refusedPerMinute', Math.min(1, Math.max(0, leftOf(keyId, 'refusedPerMinute', limit))));
    },
    spend: takeTokens,
  };
}

/** per s */
const rateOf = (kind: Kind, limit: number): number => limit / periods[kind].seconds;
