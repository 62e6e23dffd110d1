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
 * set their own time limits, or give `limitMs`: then a command fails without a connection or after this time, and is
 * never sent later. Once `isLeft`, it no longer reconnects, and commands that wait fail within a second.
 */
export function connectRedis(
  { url, username, password, tls }: RedisAddress,
  isLeft: () => boolean = () => false,
  limitMs?: number,
): Redis {
  return new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isLeft() ? null : Math.min(RECONNECT_MS, 50 * tries)),
    ...defined({ username, password, tls }),
    ...(limitMs === undefined ? {} : impatient(limitMs)),
  });
}

const impatient = (limitMs: number) => ({
  commandTimeout: limitMs,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
});

/** Resolves when there is a connection, or after `ms`. */
export async function untilReady(redis: Redis, ms: number): Promise<void> {
  const ready = Promise.withResolvers<void>();
  redis.once('ready', ready.resolve);
  if (redis.status !== 'ready') await withDeadline(ready.promise, ms, () => {});
}

/** Closes a connection: in good order if Redis answers, otherwise at once. */
export async function disconnectRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready')
    await withDeadline(redis.quit(), 1000, () => undefined).catch(() => undefined);
  redis.disconnect();
}
