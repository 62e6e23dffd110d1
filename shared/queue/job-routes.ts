import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { JobQueue } from './job-queue.ts';

/** What of a queue a person looks at. */
type Shown = Pick<JobQueue<unknown>, 'name' | 'counts' | 'failed' | 'retry'>;

const retryBody = z.object({ id: z.string() });

/**
 * `GET /jobs`: counts and failed jobs, without their data; `POST /jobs/retry {"id": ...}`: 404 unless it has
 * failed.
 */
export function registerJobs(server: FastifyInstance, queue: Shown): void {
  server.get('/jobs', async () => {
    const failed = await queue.failed();
    return {
      queue: queue.name,
      counts: await queue.counts(),
      failed: failed.map(({ id, attempts, error }) => ({ id, attempts, error })),
    };
  });
  server.post('/jobs/retry', async ({ body }, reply) => {
    const parsed = retryBody.safeParse(body);
    if (!parsed.success) return reply.code(400).send({ error: 'the body is {"id": "<job id>"}' });
    const retried = await queue.retry(parsed.data.id);
    return reply.code(retried ? 202 : 404).send({ retried });
  });
}
