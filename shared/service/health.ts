import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { hostName, isLoopback } from './is-loopback.ts';
import type { Logger } from './logger.ts';
import { withoutPlaces } from './without-places.ts';

/** Undefined: ready. Else what is missing. */
export type Readiness = () => string | undefined;

type Noting = { readonly logger?: Pick<Logger, 'info'> };

/**
 * `/healthz` (the process answers), `/readyz` (it can do its work) and `/metrics` (Prometheus), on any
 * Fastify instance. Anybody may ask whether it is ready, so the reason names no place; the log has all of it.
 */
export function registerHealth(
  server: FastifyInstance,
  readiness: Readiness,
  metrics: Registry,
  { logger }: Noting = {},
): void {
  let noted: string | undefined;
  server.get('/healthz', async () => ({ ok: true }));
  server.get('/readyz', async (_request, reply) => {
    const missing = readiness();
    if (missing !== noted && missing !== undefined) logger?.info({ missing }, 'not ready');
    noted = missing;
    return reply
      .code(missing === undefined ? 200 : 503)
      .send(missing === undefined ? { ready: true } : { ready: false, missing: withoutPlaces(missing) });
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
}

/**
 * On a port of this machine alone, nothing but `/healthz` answers under a name that is not loopback: a web page
 * may have rebound its own name to 127.0.0.1. To be called before the routes are registered.
 *
 * @param boundTo address that the port listens on
 */
export function refuseForeignHosts(server: FastifyInstance, boundTo: string): void {
  if (!isLoopback(boundTo)) return;
  server.addHook('onRequest', async ({ url, headers }, reply) => {
    if (url === '/healthz' || isLoopback(hostName(headers.host))) return;
    await reply.code(403).send({ error: 'this port answers under localhost and 127.0.0.1 only' });
  });
}

/** The health port of a service that has no other port. Port 0: any free one. */
export async function openHealthPort(
  where: { readonly host: string; readonly port: number },
  readiness: Readiness,
  metrics: Registry,
  noting: Noting = {},
): Promise<{ readonly port: number; readonly server: FastifyInstance; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false });
  refuseForeignHosts(server, where.host);
  registerHealth(server, readiness, metrics, noting);
  await server.listen(where);
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : where.port;
  return { port, server, close: () => server.close() };
}
