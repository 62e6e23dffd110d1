import { once } from 'node:events';
import { createServer } from 'node:http';
import { fastify } from 'fastify';
import { Pool } from 'undici';

// A process of its own for the bench of serving. `upstream`: an engine that answers at once; `pass-through
// URL`: a bare Fastify that hands requests on to one. Prints its port.

const [role, target] = process.argv.slice(2);
const TOKENS = 16;

async function upstream(): Promise<number> {
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const answer =
    Array.from({ length: TOKENS }, (_, index) => chunk({ content: ` word${index}` }, null)).join('') +
    chunk({}, 'stop') +
    'data: [DONE]\n\n';
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function passThrough(url: string): Promise<number> {
  const pool = new Pool(url, { connections: 64 });
  const server = fastify();
  server.post('/v1/chat/completions', async (request, reply) => {
    const { statusCode, headers, body } = await pool.request({
      method: 'POST',
      path: request.url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request.body),
    });
    return reply.code(statusCode).type(String(headers['content-type'])).send(body);
  });
  return Number(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port);
}

console.log(await (role === 'upstream' ? upstream() : passThrough(target!)));
process.on('disconnect', () => process.exit(0));
