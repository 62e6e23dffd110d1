import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { carriesKey } from './carries-key.ts';
import type { JobQueue } from './job-queue.ts';

/** The part of a queue that an operator can see. */
type VisibleQueue = Pick<JobQueue<unknown>, 'name' | 'counts' | 'failed' | 'retry'>;

type Access = {
  readonly key: string | undefined;
  /** Only this machine reaches the port: if no key is configured, none is needed. */
  readonly isPrivate: boolean;
};

/** failed jobs per answer; `counts` has the total */
const LISTED = 100;

const retryBody = z.object({ id: z.string() });

/**
 * `GET /jobs`: counts and the 100 oldest failed jobs, without their data. `POST /jobs/retry {"id": ...}`: 404
 * unless the job has failed, 401 without a required key.
 */
export function registerJobs(server: FastifyInstance, queue: VisibleQueue, { key, isPrivate }: Access): void {
  server.get('/jobs', async () => {
    const failed = await queue.failed(LISTED);
    return {
      queue: queue.name,
      counts: await queue.counts(),
      failed: failed.map(({ id, attempts, error }) => ({ id, attempts, error })),
    };
  });
  server.post('/jobs/retry', async ({ body, headers }, reply) => {
    const mayRetry = key === undefined ? isPrivate : carriesKey(headers.authorization, key);
    if (!mayRetry) return reply.code(401).send({ error: 'a retry needs the board key (boardKey)' });
    const parsed = retryBody.safeParse(body);
    if (!parsed.success) return reply.code(400).send({ error: 'the body must be {"id": "<job id>"}' });
    const retried = await queue.retry(parsed.data.id);
    return reply.code(retried ? 202 : 404).send({ retried });
  });
}
