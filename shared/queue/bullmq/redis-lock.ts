import { pause } from '../../lang/async.ts';
import { connectRedis, disconnectRedis, type RedisAddress, untilReady } from './connect-redis.ts';

export type RedisLock = {
  /** Rejects when another owner has the lock: this one stopped for longer than the lease. */
  readonly lost: Promise<never>;
  readonly release: () => Promise<void>;
};

export type RedisLockOptions = {
  readonly address: RedisAddress;
  /** of the lock in Redis */
  readonly name: string;
  /** An owner that starts again has the lock at once. Its processes must exclude each other by other means. */
  readonly owner: string;
  /** Called once when another owner has the lock. */
  readonly onWaiting: () => void;
  readonly signal: AbortSignal;
  readonly leaseMs?: number;
  readonly renewMs?: number;
};

/** ms after which the lock of an owner that died is free */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
/** ms between two tries to get a lock of another */
const RETRY_MS = 500;
/** ms for an answer of Redis */
const ANSWER_MS = 1_000;

/** Takes or extends a lock that is free or the owner's own. */
const takeScript = `
local there = redis.call('GET', KEYS[1])
if there and there ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Waits for a lock on Redis, which one owner has at a time; undefined after the signal aborts. While Redis is away, the
 * owner keeps the lock, and nobody else gets it. Redis may lose its contents, and an owner may stop for a while and act
 * before it learns that it lost the lock: so the lock saves work, and what it protects must be safe without it.
 */
export async function takeRedisLock({
  address,
  name,
  owner,
  onWaiting,
  signal,
  leaseMs = LEASE_MS,
  renewMs = RENEW_MS,
}: RedisLockOptions): Promise<RedisLock | undefined> {
  let isLeft = false;
  const redis = connectRedis(address, () => isLeft, ANSWER_MS);
  redis.on('error', () => {}); // the queue reports it
  /** Undefined: Redis does not answer. */
  const take = () => redis.eval(takeScript, 1, name, owner, leaseMs).catch(() => undefined);
  const leave = async () => {
    isLeft = true;
    await disconnectRedis(redis);
  };
  let isWaiting = false;
  let wasAway = false;
  redis.on('close', () => {
    wasAway = true;
  });
  await untilReady(redis, ANSWER_MS);
  for (;;) {
    if (signal.aborted) {
      await leave();
      return undefined;
    }
    if (isWaiting && wasAway) {
      // the owner extends its lock first when Redis is back
      const isBack = redis.status === 'ready';
      if (isBack) wasAway = false;
      await pause(isBack ? 2 * renewMs : RETRY_MS, signal);
      continue;
    }
    const taken = await take();
    if (taken === 1) break;
    wasAway = taken === undefined;
    if (taken === 0 && !isWaiting) {
      isWaiting = true;
      onWaiting();
    }
    await pause(RETRY_MS, signal);
  }
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // it may reject before anybody waits for it
  const renewing = setInterval(async () => {
    if ((await take()) === 0) lost.reject(new Error(`another process has taken ${name}`));
  }, renewMs);
  return {
    lost: lost.promise,
    release: async () => {
      clearInterval(renewing);
      await redis.eval(releaseScript, 1, name, owner).catch(() => undefined);
      await leave();
    },
  };
}
