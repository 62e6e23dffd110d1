import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { hostName, isLoopback } from './is-loopback.ts';
import type { Logger } from './logger.ts';
import { withoutPlaces } from './without-places.ts';

/** Undefined: ready; otherwise what is missing. */
export type Readiness = () => string | undefined;

type HealthOptions = { readonly logger?: Pick<Logger, 'info'> };

/**
 * Registers `/healthz` (the process is alive), `/readyz` (it can do its work) and `/metrics` (Prometheus).
 * Anybody may request them, so the reason leaves out paths and addresses; the log has the full text.
 */
export function registerHealth(
  server: FastifyInstance,
  readiness: Readiness,
  metrics: Registry,
  { logger }: HealthOptions = {},
): void {
  let loggedReason: string | undefined;
  server.get('/healthz', async () => ({ ok: true }));
  server.get('/readyz', async (_request, reply) => {
    const missing = readiness();
    if (missing !== loggedReason && missing !== undefined) logger?.info({ missing }, 'not ready');
    loggedReason = missing;
    return reply
      .code(missing === undefined ? 200 : 503)
      .send(missing === undefined ? { ready: true } : { ready: false, missing: withoutPlaces(missing) });
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
}

/**
 * On a loopback port, only `/healthz` answers under a foreign host name, because a web page may have rebound its
 * name to 127.0.0.1. Call this before registering routes.
 *
 * @param boundTo address that the port listens on
 */
export function refuseForeignHosts(server: FastifyInstance, boundTo: string): void {
  if (!isLoopback(boundTo)) return;
  server.addHook('onRequest', async ({ url, headers }, reply) => {
    if (url === '/healthz' || isLoopback(hostName(headers.host))) return;
    await reply.code(403).send({ error: 'this port only answers as localhost or 127.0.0.1' });
  });
}

/** Opens the health port of a service without another port. Port 0: any free port. */
export async function openHealthPort(
  where: { readonly host: string; readonly port: number },
  readiness: Readiness,
  metrics: Registry,
  options: HealthOptions = {},
): Promise<{ readonly port: number; readonly server: FastifyInstance; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false });
  refuseForeignHosts(server, where.host);
  registerHealth(server, readiness, metrics, options);
  await server.listen(where);
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : where.port;
  return { port, server, close: () => server.close() };
}
