import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { monotonicNow } from '../../shared/service/clock.ts';
import type { ServiceError } from '../../shared/service/errors.ts';
import { type Readiness, registerHealth } from '../../shared/service/health.ts';
import { hostName, isLoopback } from '../../shared/service/is-loopback.ts';
import type { Logger } from '../../shared/service/logger.ts';
import { bearerOf, type Caller } from './access.ts';
import { refuseUnserved } from './chat/adapters-of.ts';
import { asServingError, errorBody } from './error-body.ts';
import { ServingError } from './errors.ts';
import { limitConnections } from './http/connections.ts';
import { allowOrigins } from './http/cors.ts';
import { mostBodyBytes, readJsonBodies } from './http/request-bodies.ts';
import { isMessagesPath, messagesError } from './messages/error-body.ts';
import { isSessionKey } from './rl/session-key.ts';
import { registerChat } from './routes/chat.ts';
import { discardBody } from './routes/discard-body.ts';
import { registerFeedback } from './routes/feedback.ts';
import { admitOther, admitUnread } from './routes/key-limits.ts';
import { registerMessages } from './routes/messages.ts';
import { registerModels } from './routes/models.ts';
import { registerResponses } from './routes/responses.ts';
import { registerRl } from './routes/rl.ts';
import { registerSessions } from './routes/sessions.ts';
import { watchRoutes } from './routes/unknown-request.ts';
import type { ServingWorld } from './routes/world.ts';
import { createWrongKeys } from './wrong-keys.ts';

/** Alive: open to anybody, under any name. */
const alwaysOpen: ReadonlySet<string> = new Set(['/health', '/healthz']);
/** Their requests are counted when they are let in, as answers. */
const answers: ReadonlySet<string> = new Set(
  ['/chat/completions', '/messages', '/responses'].flatMap((path) => [path, `/v1${path}`]),
);
const asksForAnswer = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'POST' && answers.has(routeOptions.url ?? '');
const isClientError = (status: number): boolean => status >= 400 && status < 500;
const IDLE_CHECK_MS = 50;
/** ms of the end of the service that answers have to come to their own end */
const ANSWERS_LIMIT_MS = 5_000;
/** ms after which nobody is waited for: an answer that was cut short is a fact by then, in log or outbox */
const CONNECTIONS_LIMIT_MS = 7_500;
const DISCARD_LIMIT_MS = 5_000;
/** ms that a client has to take the answer to what is no request */
const LINGER_MS = 1_000;
/** ms between two looks for connections that are late */
const CHECK_INTERVAL_MS = 5_000;
const callers = new WeakMap<FastifyRequest, Caller>();
/** Open ones, by server. */
const connections = new WeakMap<FastifyInstance, ReadonlySet<Socket>>();

/** Who sent a request that passed the door. */
export const callerOf = (request: FastifyRequest): Caller => callers.get(request)!;

/** The HTTP border: every answer of it that is no success has the error shape of the API that was asked. */
export async function createServer(
  world: ServingWorld,
  readiness: Readiness,
  registry: Registry,
): Promise<FastifyInstance> {
  const { host, requestTimeoutMs } = world.config;
  const maxBodyBytes = mostBodyBytes(world.config, true);
  /** Beyond loopback a probe asks by whatever name; on loopback a foreign name may be a web page's. */
  const isOpen = ({ url, headers }: FastifyRequest): boolean =>
    alwaysOpen.has(url) || (url === '/readyz' && (!isLoopback(host) || isLoopback(hostName(headers.host))));
  const server = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    requestTimeout: 2 * requestTimeoutMs, // a body that is late is refused before
    http: { connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, requestTimeoutMs) },
    genReqId: () => `req_${randomUUID()}`,
    routerOptions: { maxParamLength: 512 },
    forceCloseConnections: 'idle',
    return503OnClosing: false, // what came before the end is answered
    frameworkErrors: (error, request, reply) => {
      const failure = asServingError(error, maxBodyBytes);
      void (reply as FastifyReply).code(failure.status).send(bodyOf(request, failure));
    },
    clientErrorHandler: (error, socket) => {
      setTimeout(() => socket.destroy(), LINGER_MS).unref(); // whether or not the client takes the answer
      if (!socket.writable) return;
      const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      const body = JSON.stringify(
        errorBody(
          isLate
            ? ServingError.REQUEST_TIMEOUT({ seconds: requestTimeoutMs / 1_000 })
            : ServingError.INVALID_REQUEST({ detail: 'This is no HTTP request.' }),
        ),
      );
      socket.end(
        `HTTP/1.1 ${isLate ? '408 Request Timeout' : '400 Bad Request'}\r\n` +
          `content-type: application/json\r\nconnection: close\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    },
  });
  const open = limitConnections(server.server, world.config.maxConnections);
  connections.set(server, open.open);
  const unknownRequest = watchRoutes(server);
  server.setNotFoundHandler(async (request, reply) => {
    throw unknownRequest(request, reply);
  });
  await allowOrigins(server, world.config.corsOrigins);
  server.removeContentTypeParser('text/plain');
  server.removeContentTypeParser('application/json');
  readJsonBodies(server, {
    limits: world.config,
    needsKey: world.access.needsKey,
    keyOf: (request) => callerOf(request).keyId,
  });
  const wrongKeys = createWrongKeys(monotonicNow, (ms) =>
    pause(ms, undefined, { ref: false, signal: world.ending }).catch(() => {}),
  );
  const letIn = async (request: FastifyRequest): Promise<void> => {
    const shown = [request.headers.authorization, apiKeyOf(request)];
    const ofSession = shown.find((one) => isSessionKey(bearerOf(one) ?? ''));
    const caller =
      ofSession === undefined
        ? ((await world.access.callerOf(shown[0])) ?? (await world.access.callerOf(shown[1])))
        : await world.access.callerOf(ofSession);
    if (caller === undefined) {
      await wrongKeys.refuse(request.socket.remoteAddress);
      throw ServingError.INVALID_API_KEY();
    }
    if (!(await world.access.needsKey()) && !isLoopback(hostName(request.headers.host))) {
      throw ServingError.HOST_NOT_LOOPBACK({ host: hostName(request.headers.host).slice(0, 200) });
    }
    const { adapter } = caller;
    if (adapter !== undefined) refuseUnserved(adapter, world.config.adapters);
    // what others do here is not its session's
    if (caller.sessionKey !== undefined && request.routeOptions.url === '/metrics')
      throw ServingError.NOT_FOR_SESSION_KEYS();
    callers.set(request, caller);
    if (asksForAnswer(request)) admitUnread(world.quota, caller);
    else admitOther(world.quota, caller);
  };
  server.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id);
    if (isMessagesPath(request.url)) void reply.header('request-id', request.id);
    if (!isOpen(request)) await letIn(request);
    if (request.is404) throw unknownRequest(request, reply);
  });
  server.addHook('preHandler', async ({ raw: { socket } }, reply) => {
    open.began(socket);
    reply.raw.once('close', () => open.ended(socket));
  });
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const caller = callers.get(request);
    if (caller !== undefined && asksForAnswer(request) && isClientError(reply.statusCode))
      world.quota.refused(caller);
    world.metrics.requests.inc({ route, status: reply.statusCode });
  });
  server.setErrorHandler(async (error, request, reply) => {
    const failure = asServingError(error, maxBodyBytes);
    if (!request.raw.complete) {
      await discardBody(request.raw, Math.min(DISCARD_LIMIT_MS, requestTimeoutMs));
      if (!request.raw.complete) void reply.header('connection', 'close'); // the rest is not waited for
    }
    if (failure.status >= 500) logFailure(world.logger, request, error, failure);
    if (failure.retryAfterSeconds !== undefined) void reply.header('retry-after', failure.retryAfterSeconds);
    return reply.code(failure.status).send(bodyOf(request, failure));
  });
  registerHealth(server, readiness, registry, { logger: world.logger });
  registerChat(server, world);
  registerMessages(server, world);
  registerResponses(server, world);
  registerModels(server, world);
  registerFeedback(server, world);
  registerSessions(server, world);
  registerRl(server, world);
  return server;
}

/** What passes by itself, or a file says, is no fault in the code: a line without a trace. */
function logFailure(
  logger: Logger,
  { id: request, url }: FastifyRequest,
  error: unknown,
  { status, code, message }: ServiceError,
): void {
  const { cause } = error as Error;
  const reason = cause instanceof Error ? cause.message : message;
  if (status === 503) logger.warn({ request, url, code, reason }, 'not available');
  else logger.error({ err: error, request, url }, 'failed');
}

const bodyOf = ({ url, id }: FastifyRequest, failure: ServiceError): object =>
  isMessagesPath(url) ? messagesError(failure, id) : errorBody(failure);

/** Anthropic's clients send their key in a header of its own. */
const apiKeyOf = ({ headers }: FastifyRequest): string | undefined =>
  typeof headers['x-api-key'] === 'string' ? `Bearer ${headers['x-api-key']}` : undefined;

/**
 * Ends when the last open answer has ended; clients keep their connections, so those are closed as they fall
 * idle. After `ANSWERS_LIMIT_MS` open answers are cut short (`cut`), and a client that does not take its own
 * even so is left.
 *
 * @param atOnce cuts them short now: the next server waits for this one's port
 */
export async function closeServer(server: FastifyInstance, cut: () => void, atOnce: boolean): Promise<void> {
  if (atOnce) cut();
  const closeIdle = () => {
    server.server.closeIdleConnections();
    // Node counts one that never asked for anything as busy; clients open such, and keep them
    for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
  };
  const timers = [
    setInterval(closeIdle, IDLE_CHECK_MS),
    setTimeout(cut, ANSWERS_LIMIT_MS),
    setTimeout(() => server.server.closeAllConnections(), CONNECTIONS_LIMIT_MS),
  ];
  await server.close().finally(() => timers.map(clearTimeout));
}
