import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { isServiceError } from '../../shared/runtime/errors.ts';
import { type Readiness, refuseForeignHosts, registerHealth } from '../../shared/runtime/health.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { ConsoleDeps } from './api/console-deps.ts';
import { registerFlow } from './api/flow.ts';
import { registerLearning } from './api/learning.ts';
import { createOverview, registerOverview } from './api/overview.ts';
import { registerPeople } from './api/people.ts';
import type { Change, Overview } from './api/shapes.ts';
import { registerTurns } from './api/turns.ts';
import { registerVersionChecks } from './api/version-checks.ts';
import { ConsoleError } from './errors.ts';
import { guardRoutes } from './http/door.ts';
import { type LiveHub, registerLive } from './http/live.ts';
import { registerPage } from './http/page-files.ts';
import { registerServing } from './http/to-serving.ts';
import type { createConsoleMetrics } from './metrics.ts';

type Options = {
  readonly readiness: Readiness;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly metrics: ReturnType<typeof createConsoleMetrics>;
};

/** A chat with its history. */
const LARGEST_BODY = 4 * 2 ** 20;

export type ConsoleServer = {
  readonly server: FastifyInstance;
  readonly live: LiveHub;
  readonly overview: () => Promise<Overview>;
};

/** The page, its API, and health on one port. */
export async function createConsoleServer(deps: ConsoleDeps, options: Options): Promise<ConsoleServer> {
  const { config, keys, stopping } = deps;
  const { readiness, registry, logger, metrics } = options;
  const server = fastify({ logger: false, bodyLimit: LARGEST_BODY, forceCloseConnections: true });
  refuseForeignHosts(server, config.host);
  registerPage(server);
  guardRoutes(server, keys, stopping);
  server.addHook('onResponse', async (request, reply) => {
    metrics.requests.inc({ route: request.routeOptions.url ?? 'none', status: reply.statusCode });
  });
  server.addHook('onSend', async (request, reply) => {
    if (request.routeOptions.url?.startsWith('/api/') === true)
      void reply.header('cache-control', 'no-store');
  });
  server.setNotFoundHandler(async () => {
    throw ConsoleError.NOT_FOUND({ what: 'such page' });
  });
  server.setErrorHandler((error, request, reply) => {
    const failure = asConsoleError(error);
    // the URL of a search has words of a person
    const { method, routeOptions } = request;
    if (failure.status >= 500) logger.warn({ err: error, method, route: routeOptions.url }, 'request failed');
    if (failure.retryAfterSeconds !== undefined) void reply.header('retry-after', failure.retryAfterSeconds);
    const { code, message } = failure;
    return reply.code(failure.status).send({ error: { code: code.toLowerCase(), message } });
  });
  registerHealth(server, readiness, registry, { logger });
  const overview = createOverview(deps);
  registerOverview(server, overview);
  registerTurns(server, deps);
  registerLearning(server, deps);
  registerVersionChecks(server, deps);
  registerFlow(server, deps);
  registerPeople(server, deps);
  registerServing(server, config.servingUrl);
  const now = async (): Promise<Change> => ({
    ...(await overview()),
    changed: { turns: [], versions: true },
  });
  const live = registerLive(server, { most: config.mostListeners, now });
  return { server, live, overview };
}

function asConsoleError(error: unknown) {
  if (isServiceError(error)) return error;
  const { statusCode, message } = error as { readonly statusCode?: number; readonly message: string };
  return statusCode !== undefined && statusCode < 500
    ? ConsoleError.INVALID_REQUEST({ detail: message })
    : ConsoleError.INTERNAL();
}
