import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { accessCallerOf } from '../http/caller.ts';
import { readBody } from '../http/read-body.ts';
import { LeaseFact } from '../sessions/lease-fact.ts';
import type { Lease } from '../sessions/lease-table.ts';
import type { ApiDeps } from './api-deps.ts';

const FactBody = z.object({ session_id: z.string().min(1), fact: LeaseFact });

/** Facts about the environments of attempts. They need an access key: a session key is the agent's. */
export function registerEnvironments(server: FastifyInstance, { leases }: ApiDeps): void {
  server.post('/rl/environments', async (request) => {
    const { session_id: session, fact } = readBody(FactBody, request.body);
    return shown(await leases.record(accessCallerOf(request).keyId, session, fact));
  });
  server.get('/rl/environments', async (request) => ({
    object: 'list',
    data: (await leases.list(accessCallerOf(request).keyId)).map(shown),
  }));
}

const shown = ({ session, leasedAt, expiresAt, released, reward, ...lease }: Lease) => ({
  session_id: session,
  environment: lease.environment,
  task: lease.task,
  attempt: lease.attempt,
  host: lease.host,
  leased_at: leasedAt,
  expires_at: new Date(expiresAt).toISOString(),
  actions: lease.actions,
  reward: reward ?? null,
  released_by: released ?? null,
});
