import { Readable } from 'node:stream';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { readJsonBodies } from './request-bodies.ts';

function open() {
  const server = fastify();
  server.removeContentTypeParser('application/json');
  readJsonBodies(server, {
    limits: { maxBodyBytes: 1_000_000, maxBodyBytesPerKey: 1_000_000, requestTimeoutMs: 60_000 },
    needsKey: async () => true,
    keyOf: () => 'key-1',
  });
  return server;
}
/** A body without a length, byte by byte. */
const byteByByte = (text: string) => Readable.from([...Buffer.from(text)].map((byte) => Buffer.from([byte])));
const headers = { 'content-type': 'application/json' };

test('a body of many small chunks is read completely, with one listener on its response', async () => {
  const server = open();
  server.post('/', async ({ body }, reply) => ({ body, listeners: reply.raw.listenerCount('close') }));
  const listeners: number[] = [];
  for (const length of [10, 5_000]) {
    const sent = { text: 'é'.repeat(length) };
    const payload = byteByByte(JSON.stringify(sent));
    const answer = await server.inject({ method: 'POST', url: '/', headers, payload });
    expect(answer.json().body).toEqual(sent);
    listeners.push(answer.json().listeners);
  }
  expect(listeners[1]).toBe(listeners[0]);
  await server.close();
});

test('the bytes of a request are released when its response has ended', async () => {
  const server = open();
  server.post('/', async () => ({}));
  for (let round = 0; round < 5; round++) {
    const payload = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(10_000, ' ')));
    const answer = await server.inject({ method: 'POST', url: '/', headers, payload });
    expect([answer.statusCode, answer.json().code]).not.toContain(429);
  }
  await server.close();
});

test('a route can accept an empty body and explain an invalid one', async () => {
  const server = open();
  const explainInvalid = (beginning: string) => (beginning.includes('NaN') ? new Error('no NaN') : undefined);
  server.post('/', { config: { mayBeEmpty: true, explainInvalid } }, async ({ body }) => ({
    body: body === undefined ? 'none' : body,
  }));
  server.post('/strict', async ({ body }) => ({ body }));
  const send = (url: string, payload: string) => server.inject({ method: 'POST', url, headers, payload });
  expect((await send('/', '  ')).json()).toEqual({ body: 'none' });
  expect((await send('/', '{"a":1}')).json()).toEqual({ body: { a: 1 } });
  expect((await send('/', '{"a":NaN}')).json()).toMatchObject({ message: 'no NaN' });
  expect((await send('/', '{')).statusCode).toBeGreaterThanOrEqual(400);
  expect((await send('/strict', '  ')).statusCode).toBeGreaterThanOrEqual(400);
  await server.close();
});
