import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { type RedisServer, startRedis, whyNoRedis } from '../../infra/redis/start-redis.ts';

/**
 * Runs a suite if redis-server is installed, and skips it otherwise; with CLAWLOOP_REQUIRE_ALL=1 it must be installed.
 */
export function withRedis(name: string, suite: (redis: () => RedisServer) => void): void {
  const reason = whyNoRedis();
  const runs = reason === undefined || process.env.CLAWLOOP_REQUIRE_ALL === '1';
  describe.skipIf(!runs)(runs ? name : `${name} (skipped: ${reason})`, () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server?.close());
    suite(() => server);
  });
}

export type EmptyRedis = {
  readonly client: () => Redis;
  /** Runs at the end of the test, the latest first. */
  readonly atEnd: (...cleanups: (() => Promise<unknown>)[]) => void;
};

/** Before each test: Redis without contents, and a client of the test's own. */
export function withEmptyRedis(
  name: string,
  suite: (redis: () => RedisServer, empty: EmptyRedis) => void,
): void {
  withRedis(name, (redis) => {
    let client: Redis;
    let cleanups: (() => Promise<unknown>)[];
    beforeEach(async () => {
      cleanups = [];
      client = new Redis(redis().url);
      await client.flushall();
    });
    afterEach(async () => {
      for (const cleanup of cleanups.reverse()) await cleanup();
      client.disconnect();
    });
    suite(redis, { client: () => client, atEnd: (...some) => void cleanups.push(...some) });
  });
}
