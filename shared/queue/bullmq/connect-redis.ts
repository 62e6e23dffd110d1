import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';

export type RedisAddress = {
  /** `redis://host:port/database`, or `rediss://` for TLS */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** of a `rediss://` address: `ca` and what else node:tls takes */
  readonly tls?: ConnectionOptions | undefined;
};

/** ms between two tries to reach a Redis that is away, at most */
const RECONNECT_MS = 1000;

/**
 * A connection that comes back by itself. Commands wait for it rather than fail (BullMQ's workers need that);
 * who cannot wait for ever sets a limit of its own. Once `isLeft` it comes back no more: where Redis is away,
 * what waits for it is refused within a second.
 */
export function connectRedis(
  { url, username, password, tls }: RedisAddress,
  isLeft: () => boolean = () => false,
): Redis {
  return new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isLeft() ? null : Math.min(RECONNECT_MS, 50 * tries)),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  });
}

/** Ends a connection: in good order where Redis answers, at once where it does not. */
export async function disconnectRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await Promise.race([redis.quit(), elapsed(1000)]).catch(() => undefined);
  redis.disconnect();
}

const elapsed = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms).unref();
  });
