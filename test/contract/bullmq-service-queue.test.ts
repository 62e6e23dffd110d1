import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { QueueConfig } from '../../shared/config/queue.ts';
import { openQueue } from '../../shared/runtime/open-queue.ts';
import { withRedis } from './bullmq-redis.ts';

const settings = { attempts: 1, backoffMs: 1, maxBackoffMs: 1, jitter: 0, timeLimitMs: 1000 };
const logger = pino({ level: 'silent' });

withRedis('the queue of a service on Redis', (redis) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function serve(boardKey?: string) {
    const given = { queue: 'redis', redisUrl: redis().url, redisPrefix: 'clawloop-board', boardKey };
    const queue = await openQueue<{ readonly of: string }>(
      QueueConfig.parse(given),
      'votes',
      settings,
      logger,
    );
    cleanups.push(queue.close);
    const server = fastify();
    cleanups.push(() => server.close());
    server.get('/healthz', async () => ({ ok: true }));
    await queue.mountBoard(server);
    await queue.add([{ id: 'turn-1/vote/0', data: { of: 'turn-1' } }]);
    return server;
  }

  test('Bull Board shows the jobs to callers with the key, and nothing to others', async () => {
    const server = await serve('a-long-enough-key');
    const basic = (key: string) => `Basic ${Buffer.from(`somebody:${key}`).toString('base64')}`;
    const get = (url: string, authorization?: string) =>
      server.inject({ url, headers: authorization === undefined ? {} : { authorization } });
    for (const authorization of [
      undefined,
      'Bearer a-wrong-key',
      'Bearer ',
      basic(''),
      'Basic',
      'a-long-enough-key',
    ]) {
      for (const url of [
        '/board',
        '/board/',
        '/board/api/queues',
        '/board/static/favicon.ico',
        '/board//api/queues',
      ]) {
        const { statusCode, body } = await get(url, authorization);
        expect([401, 404]).toContain(statusCode);
        expect(body).not.toContain('turn-1');
      }
    }
    for (const authorization of ['Bearer a-long-enough-key', basic('a-long-enough-key')]) {
      const page = await get('/board', authorization);
      expect(page.body).toContain('ClawLoop');
      expect(page.headers['content-security-policy']).toContain("default-src 'self'");
      const jobs = await get(
        '/board/api/queues?activeQueue=votes&status=latest&page=1&jobsPerPage=10',
        authorization,
      );
      expect(jobs.statusCode).toBe(200);
      expect(jobs.body).toContain('~turn-1/vote/0');
    }
    expect((await get('/healthz')).json()).toEqual({ ok: true });
  });

  test('every connection to Redis sends user and password, including those of the worker', async () => {
    const admin = new Redis(redis().url);
    cleanups.push(async () => admin.disconnect());
    await admin.acl('SETUSER', 'claw', 'on', '>a-password', '~clawloop-acl:*', '+@all');
    await admin.acl('SETUSER', 'default', 'resetpass', '>another');
    cleanups.push(() => admin.acl('SETUSER', 'default', 'nopass'));
    const given = { queue: 'redis', redisUrl: redis().url, redisPrefix: 'clawloop-acl' };
    const access = { redisUsername: 'claw', redisPassword: 'a-password' };
    const config = QueueConfig.parse({ ...given, ...access });
    const queue = await openQueue<{ readonly of: string }>(config, 'votes', settings, logger);
    const stop = new AbortController();
    const ran = Promise.withResolvers<string>();
    const done = queue.work(async ({ id }) => ran.resolve(id), { concurrency: 1 }, stop.signal);
    await queue.add([{ id: 'a', data: { of: 'a' } }]);
    expect(await ran.promise).toBe('a');
    stop.abort();
    await done;
    await queue.close();
  });

  test('without a key there is no Bull Board', async () => {
    const server = await serve();
    expect((await server.inject({ url: '/board' })).statusCode).toBe(404);
  });
});

test('a password in the URL is refused, for the URL is logged', () => {
  expect(() => QueueConfig.parse({ redisUrl: 'redis://me:secret@localhost:6379' })).toThrow(/redisPassword/);
});
