import {
  connectRedis,
  disconnectRedis,
  type RedisAddress,
  untilReady,
} from '../../../shared/queue/bullmq/connect-redis.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { messageOfRedis } from '../../../shared/runtime/redis-of-config.ts';
import type { WaitNotice } from '../../../shared/runtime/wait-notice.ts';
import type { FairCacheLimits } from './fair-cache.ts';
import { REPEATABLE_MS } from './recorded-answers.ts';
import { claimScript, keepScript, releaseScript, renewScript } from './redis-scripts.ts';
import type { SharedPlace } from './shared-answers.ts';

export type RedisPlaceOptions = {
  readonly address: RedisAddress;
  /** of all names in Redis */
  readonly prefix: string;
  readonly limits: FairCacheLimits;
  readonly notice: Pick<WaitNotice, 'away' | 'back'>;
};

/** ms for an answer of Redis */
const ANSWER_MS = 1_000;
/** ms for which a Redis that did not answer is not asked again, so that requests do not wait for it one by one */
const REST_MS = 2_000;
/** ms that a start waits for the first connection */
const CONNECT_MS = 2_000;

/** Stored answers on Redis. What Redis does not answer in time is not shared. */
export async function openRedisPlace({
  address,
  prefix,
  limits,
  notice,
}: RedisPlaceOptions): Promise<SharedPlace & { readonly close: () => Promise<void> }> {
  let isClosed = false;
  // a command that waits would act when its request is long over
  const redis = connectRedis(address, () => isClosed, ANSWER_MS);
  redis.on('error', (error: Error) => notice.away(messageOfRedis(error)));
  let restsUntil = 0;
  const run = async (script: string, name: string, words: readonly (string | number)[]): Promise<unknown> => {
    if (monotonicNow() < restsUntil) return undefined;
    try {
      const said = await redis.eval(script, 1, `${prefix}${name}`, ...words);
      notice.back();
      return said;
    } catch (error) {
      if (isClosed) return undefined;
      restsUntil = monotonicNow() + REST_MS;
      notice.away(messageOfRedis(error as Error));
      return undefined;
    }
  };
  await untilReady(redis, CONNECT_MS);
  return {
    claim: async (name, claim, leaseMs) => {
      const there = await run(claimScript, name, [claim, leaseMs]);
      return typeof there === 'string' ? there : undefined;
    },
    renew: async (name, claim, leaseMs) => void (await run(renewScript, name, [claim, leaseMs])),
    release: async (name, claim) => void (await run(releaseScript, name, [claim])),
    keep: async (name, claim, { owner, value }) => {
      const { bytesPerOwner, bytes } = limits;
      await run(keepScript, name, [claim, value, prefix, name, owner, REPEATABLE_MS, bytesPerOwner, bytes]);
    },
    close: async () => {
      isClosed = true;
      await disconnectRedis(redis);
    },
  };
}
