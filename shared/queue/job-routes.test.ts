import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { refuseForeignHosts } from '../runtime/health.ts';
import { registerJobs } from './job-routes.ts';
import { openMemoryQueue } from './memory/open-memory-queue.ts';

const settings = { attempts: 1, backoffMs: 1, maxBackoffMs: 1, jitter: 0, timeLimitMs: 1_000 };

test.each([
  ['nobody else can reach it: no key is needed', { key: undefined, isPrivate: true }, {}, 404],
  ['a key is set: it is needed', { key: 'of-the-board', isPrivate: true }, {}, 401],
  ['others can reach it: a key is needed', { key: undefined, isPrivate: false }, {}, 401],
  ['a wrong key', { key: 'of-the-board', isPrivate: false }, { authorization: 'Bearer other' }, 401],
  ['the key', { key: 'of-the-board', isPrivate: false }, { authorization: 'Bearer of-the-board' }, 404],
])('a job is tried again; %s', async (_, access, headers, status) => {
  const queue = openMemoryQueue<null>('votes', settings);
  const server = fastify();
  registerJobs(server, queue, access);
  const retry = await server.inject({ method: 'POST', url: '/jobs/retry', headers, payload: { id: 'none' } });
  expect(retry.statusCode).toBe(status);
  expect((await server.inject('/jobs')).statusCode).toBe(200);
  await server.close();
  await queue.close();
});

test('a page whose name was rebound to this machine cannot retry a job', async () => {
  const queue = openMemoryQueue<null>('votes', settings);
  const server = fastify();
  refuseForeignHosts(server, '127.0.0.1');
  registerJobs(server, queue, { key: undefined, isPrivate: true });
  const retry = (host: string) =>
    server.inject({ method: 'POST', url: '/jobs/retry', headers: { host }, payload: { id: 'none' } });
  expect((await retry('evil.example')).statusCode).toBe(403);
  expect((await retry('127.0.0.1:8702')).statusCode).toBe(404);
  await server.close();
  await queue.close();
});
