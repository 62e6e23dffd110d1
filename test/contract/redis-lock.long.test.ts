import { expect, test } from 'vitest';
import { type RedisLock, takeRedisLock } from '../../shared/queue/bullmq/redis-lock.ts';
import { withEmptyRedis } from './bullmq-redis.ts';
import { until } from './event-log-fixtures.ts';

const NAME = 'clawloop:trainer:log';

withEmptyRedis('a lock on Redis', (redis, { client, atEnd }) => {
  /** An owner that wants the lock; leases are as short as the test needs them. */
  const want = (owner: string, { leaseMs = 5_000, renewMs = 50 } = {}) => {
    const stop = new AbortController();
    const state = { isWaiting: false, isLost: false, lock: undefined as RedisLock | undefined };
    const onWaiting = () => {
      state.isWaiting = true;
    };
    const address = { url: redis().url };
    const taking = takeRedisLock({
      address,
      name: NAME,
      owner,
      onWaiting,
      signal: stop.signal,
      leaseMs,
      renewMs,
    }).then((lock) => {
      state.lock = lock;
      lock?.lost.catch(() => {
        state.isLost = true;
      });
      return lock;
    });
    atEnd(async () => {
      stop.abort();
      await (await taking)?.release();
    });
    return { state, taking, stop };
  };

  test('one owner has it at a time; the next gets it when it is released', async () => {
    const first = want('one');
    const lock = await first.taking;
    const second = want('two');
    await until(() => second.state.isWaiting);
    await lock!.release();
    expect(await second.taking).toBeDefined();
    expect(await client().get(NAME)).toBe('two');
    expect(first.state.isLost).toBe(false);
  });

  test('the lock of an owner that died is free after its lease, and at once for the same owner', async () => {
    await want('one', { leaseMs: 60_000, renewMs: 1e8 }).taking;
    const second = want('two');
    await until(() => second.state.isWaiting);
    expect(await want('one', { leaseMs: 1_500, renewMs: 1e8 }).taking).toBeDefined();
    expect(await second.taking).toBeDefined();
  });

  test('an owner that stopped for longer than its lease learns that it lost the lock, and leaves it alone', async () => {
    const first = want('one', { leaseMs: 200, renewMs: 1_000 });
    const lock = await first.taking;
    expect(await want('two').taking).toBeDefined();
    await until(() => first.state.isLost);
    await lock!.release();
    expect(await client().get(NAME)).toBe('two');
  });

  test('while Redis is away the owner keeps the lock, and extends it before others try again', async () => {
    const leaseMs = 2_000; // longer than a busy machine pauses
    const first = want('one', { leaseMs, renewMs: 50 });
    await first.taking;
    const second = want('two', { renewMs: 2_000 });
    await until(() => second.state.isWaiting);
    await redis().kill();
    const killedAt = performance.now();
    await until(() => performance.now() - killedAt > leaseMs); // Redis comes back without the lock
    await redis().start();
    await until(
      async () =>
        (await client()
          .get(NAME)
          .catch(() => null)) === 'one',
      20_000,
    );
    expect(first.state.isLost).toBe(false);
    expect(second.state.lock).toBeUndefined();
    await first.state.lock!.release();
    expect(await second.taking).toBeDefined();
  });

  test('a wait ends with its signal', async () => {
    await want('one').taking;
    const second = want('two');
    await until(() => second.state.isWaiting);
    second.stop.abort();
    expect(await second.taking).toBeUndefined();
  });
});
