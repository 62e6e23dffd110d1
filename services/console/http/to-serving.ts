import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ConsoleError } from '../errors.ts';

/** What the page may ask serving for: chats, and what an operator does. */
const routes = [
  ['GET', '/v1/models'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/feedback'],
  ['POST', '/v1/sessions/end'],
  ['POST', '/v1/policy/rollback'],
  ['POST', '/v1/learning/pause'],
  ['POST', '/v1/learning/resume'],
  ['POST', '/v1/learning/now'],
  ['POST', '/v1/turns/withdraw'],
  ['POST', '/v1/turns/delete'],
  ['POST', '/v1/dead-letters/redrive'],
] as const;

const passedOn = ['authorization', 'x-session-id'] as const;
const passedBack = ['content-type', 'retry-after', 'x-clawloop-version'] as const;

/** `/serving/v1/...`: passes the page's requests on to serving, with the key that the page sent. */
export function registerServing(server: FastifyInstance, servingUrl: string): void {
  const origin = servingUrl.replace(/\/+$/, '');
  for (const [method, path] of routes)
    server.route({
      method,
      url: `/serving${path}`,
      handler: (request, reply) => passOn(`${origin}${path}`, request, reply),
    });
}

async function passOn(url: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const name of passedOn) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const body = request.method === 'GET' ? null : JSON.stringify(request.body ?? {});
  const answer = await fetch(url, {
    method: request.method,
    headers,
    body,
    signal: gone.signal,
    redirect: 'error',
  }).catch((cause: unknown) => {
    throw Object.assign(ConsoleError.SERVING_DOWN({ url: new URL(url).origin }), { cause });
  });
  void reply.code(answer.status).header('cache-control', 'no-store');
  for (const name of passedBack) {
    const value = answer.headers.get(name);
    if (value !== null) void reply.header(name, value);
  }
  if (answer.body === null) return reply.send('');
  const stream = Readable.fromWeb(answer.body as ReadableStream);
  stream.on('error', () => {}); // the page left, or serving ended: the connection shows it
  return reply.send(stream);
}
