import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import { carriesKey } from '../carries-key.ts';

const PATH = '/board';
/** Keeps browsers from loading the font that the page requests from an outside server. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:";

/**
 * Bull Board under `/board`: shows the queue's jobs by state and can retry them. Every request needs the key, as
 * a Bearer token or as the password of a browser login (any user name).
 */
export async function mountBullBoard(server: FastifyInstance, queue: Queue, key: string): Promise<void> {
  const adapter = new FastifyAdapter().setBasePath(PATH);
  createBullBoard({
    queues: [new BullMQAdapter(queue)],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'ClawLoop' } },
  });
  await server.register(
    async (board) => {
      board.addHook('onRequest', async ({ headers }, reply) => {
        reply.header('content-security-policy', POLICY);
        if (carriesKey(headers.authorization, key)) return;
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
