import { afterAll, beforeAll, describe } from 'vitest';
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
