import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';

/** Undefined: ready. Else what is missing. */
export type Readiness = () => string | undefined;

/**
 * `/healthz` (the process answers), `/readyz` (it can do its work) and `/metrics` (Prometheus), on any
 * Fastify instance.
 */
export function registerHealth(server: FastifyInstance, readiness: Readiness, metrics: Registry): void {
  server.get('/healthz', async () => ({ ok: true }));
  server.get('/readyz', async (_request, reply) => {
    const missing = readiness();
    return reply
      .code(missing === undefined ? 200 : 503)
      .send(missing === undefined ? { ready: true } : { ready: false, missing });
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
}

/** The health port of a service that has no other port. Port 0: any free one. */
export async function openHealthPort(
  where: { readonly host: string; readonly port: number },
  readiness: Readiness,
  metrics: Registry,
): Promise<{ readonly port: number; readonly server: FastifyInstance; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false });
  registerHealth(server, readiness, metrics);
  await server.listen(where);
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : where.port;
  return { port, server, close: () => server.close() };
}
