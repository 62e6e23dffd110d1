import type { KeyLimits } from '../../shared/service/access-keys.ts';
import type { Caller } from './access.ts';

/** Which limit is used up, and in how many seconds to come again. */
export type UsedUp = { readonly limit: string; readonly retryAfterSeconds: number };

export type KeyQuota = {
  /**
   * Counts one request for an answer, and sets so many tokens aside for it until it is known what the answer
   * took.
   */
  readonly admit: (caller: Caller, tokens?: number) => UsedUp | undefined;
  /** Counts a request for anything else. */
  readonly admitOther: (caller: Caller) => UsedUp | undefined;
  /** Whether a request for an answer may be read: refused ones have a limit too. Counts nothing. */
  readonly admitUnread: (caller: Caller) => UsedUp | undefined;
  /** Counts a request for an answer that was read and refused. */
  readonly refused: (caller: Caller) => void;
  /** What an admitted answer took besides the tokens that were set aside; below 0: what it left of them. */
  readonly spend: (keyId: string, tokens: number) => void;
};

type Kind = keyof KeyLimits | 'otherRequestsPerMinute' | 'refusedPerMinute';
type Limits = { readonly [Name in Kind]?: number | undefined };
/** s in which a limit that was used up is whole again */
const periods: Readonly<Record<Kind, { readonly seconds: number; readonly of: string }>> = {
  requestsPerMinute: { seconds: 60, of: 'requests per minute' },
  otherRequestsPerMinute: { seconds: 60, of: 'requests per minute for anything but answers' },
  refusedPerMinute: { seconds: 60, of: 'refused requests per minute' },
  tokensPerMinute: { seconds: 60, of: 'tokens per minute' },
  tokensPerDay: { seconds: 86_400, of: 'tokens per day' },
};
const ofTokens = ['tokensPerMinute', 'tokensPerDay'] as const;

/** An answer is looked up, rated and counted, and its session begins and ends. */
const OTHERS_PER_ANSWER = 4;

/** What is left of a limit, at a moment in ms. Below 0: an answer took more than was left. */
type Bucket = { readonly left: number; readonly at: number };

/**
 * The limits of each access key, as token buckets: full at first, refilled evenly. What an answer takes beyond
 * what was set aside for it delays the next. Kept in this process alone: each replica counts for itself, and a
 * restart begins anew.
 *
 * @param otherRequestsPerMinute of a key without a number of requests of its own
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
  /** The limits that have not as much left as is asked of them; one that is asked for more has to be full. */
  const lacking = (keyId: string, limits: Limits, asked: Limits): UsedUp | undefined => {
    const waits = (Object.keys(asked) as readonly Kind[]).flatMap((kind): readonly UsedUp[] => {
      const limit = limits[kind];
      if (limit === undefined || !Number.isFinite(limit)) return [];
      const missing = Math.min(asked[kind]!, limit) - leftOf(keyId, kind, limit);
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
      const asked = { requestsPerMinute: 1, tokensPerMinute: atLeast, tokensPerDay: atLeast };
      const usedUp = lacking(keyId, limits, asked);
      if (usedUp !== undefined) return usedUp;
      admitted.set(keyId, limits);
      take(keyId, 'requestsPerMinute', 1);
      takeTokens(keyId, tokens);
      return undefined;
    },
    admitOther: (caller) => {
      const { keyId } = caller;
      const limits = limitsOf(caller);
      const usedUp = lacking(keyId, limits, { otherRequestsPerMinute: 1 });
      if (usedUp !== undefined) return usedUp;
      admitted.set(keyId, limits);
      if (Number.isFinite(limits.otherRequestsPerMinute)) take(keyId, 'otherRequestsPerMinute', 1);
      return undefined;
    },
    admitUnread: (caller) => lacking(caller.keyId, limitsOf(caller), { refusedPerMinute: 1 }),
    refused: (caller) => {
      const limits = limitsOf(caller);
      admitted.set(caller.keyId, limits);
      if (Number.isFinite(limits.refusedPerMinute)) take(caller.keyId, 'refusedPerMinute', 1);
    },
    spend: takeTokens,
  };
}

/** per s */
const rateOf = (kind: Kind, limit: number): number => limit / periods[kind].seconds;
