import { fastify } from 'fastify';
import { Pool } from 'undici';

// A separate process for the load bench, the peer: a bare Fastify that forwards requests to the engine at the given
// address by undici, and returns its answers. Records nothing. Prints its port.

const pool = new Pool(process.argv[2]!, { connections: 256 });
const server = fastify({ bodyLimit: 2 ** 24 });
server.post('/v1/chat/completions', async (request, reply) => {
  const { statusCode, headers, body } = await pool.request({
    method: 'POST',
    path: request.url,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  return reply.code(statusCode).type(String(headers['content-type'])).send(body);
});
console.log(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port);
process.on('disconnect', () => process.exit(0));
