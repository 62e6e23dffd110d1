import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';
import { withDeadline } from '../../lang/async.ts';
import { defined } from '../../lang/defined.ts';

export type RedisAddress = {
  /** `redis://host:port/database`, or `rediss://` for TLS */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** for a `rediss://` address: `ca` and other options of node:tls */
  readonly tls?: ConnectionOptions | undefined;
};

/** longest delay between two reconnects, ms */
const RECONNECT_MS = 1000;

/**
 * A connection that reconnects by itself. Commands wait instead of failing, as BullMQ's workers require; callers
 * set their own time limits. Once `isLeft`, it no longer reconnects, and commands that wait fail within a second.
 */
export function connectRedis(
  { url, username, password, tls }: RedisAddress,
  isLeft: () => boolean = () => false,
): Redis {
  return new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isLeft() ? null : Math.min(RECONNECT_MS, 50 * tries)),
    ...defined({ username, password, tls }),
  });
}

/** Closes a connection: in good order if Redis answers, otherwise at once. */
export async function disconnectRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready')
    await withDeadline(redis.quit(), 1000, () => undefined).catch(() => undefined);
  redis.disconnect();
}
