import { createHash, timingSafeEqual } from 'node:crypto';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';

const PATH = '/board';
/** The page asks an outside server for a font; with this no browser does. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:";

/**
 * Bull Board under `/board`: the queue's jobs by state, to look at and to retry. Every request needs the key:
 * as a Bearer token, or as the password that a browser asks for (any user name).
 */
export async function mountBullBoard(server: FastifyInstance, queue: Queue, key: string): Promise<void> {
  const adapter = new FastifyAdapter().setBasePath(PATH);
  createBullBoard({
    queues: [new BullMQAdapter(queue)],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'ClawLoop' } },
  });
  const expected = digest(key);
  await server.register(
    async (board) => {
      board.addHook('onRequest', async ({ headers }, reply) => {
        reply.header('content-security-policy', POLICY);
        if (timingSafeEqual(digest(keyIn(headers.authorization)), expected)) return;
        await reply
          .code(401)
          .header('www-authenticate', 'Basic realm="ClawLoop queues", charset="UTF-8"')
          .send({ error: 'the board needs its key (boardKey)' });
      });
      await board.register(adapter.registerPlugin());
    },
    { prefix: PATH },
  );
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The key that an Authorization header carries (RFC 6750 or RFC 7617); empty when it carries none. */
function keyIn(header = ''): string {
  const [scheme = '', value = ''] = header.split(' ');
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = Buffer.from(value, 'base64').toString();
  return pair.slice(pair.indexOf(':') + 1);
}
