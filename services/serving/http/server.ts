import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { ServingConfig } from '../../../shared/config/serving.ts';
import { withDeadline } from '../../../shared/lang/async.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import type { ServiceError } from '../../../shared/runtime/errors.ts';
import { type Readiness, registerHealth } from '../../../shared/runtime/health.ts';
import { hostName, isLoopback } from '../../../shared/runtime/is-loopback.ts';
import { bearerOf } from '../../../shared/runtime/known-keys.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createWrongKeys } from '../../../shared/runtime/wrong-keys.ts';
import { ServingError } from '../errors.ts';
import type { ServingMetrics } from '../metrics.ts';
import { type Access, type Caller, refuseUnserved } from './access.ts';
import { callerIfKnown, callerOf, decorateCaller, setCaller } from './caller.ts';
import { limitConnections } from './connections.ts';
import { allowOrigins } from './cors.ts';
import { countedStatus } from './counted-status.ts';
import { asServingError, errorBody } from './error-body.ts';
import { admitOther, admitUnread } from './key-limits.ts';
import type { KeyQuota } from './key-quota.ts';
import { messagesError, readsMessagesErrors } from './messages-error-body.ts';
import { mostBodyBytes, readJsonBodies } from './request-bodies.ts';
import { isSessionKey } from './session-key.ts';
import { watchRoutes } from './unknown-request.ts';

/** Liveness probes: open to everybody, under any host name. */
const alwaysOpen: ReadonlySet<string> = new Set(['/health', '/healthz']);
/** Requests to these paths count as answers, when the answer is admitted. */
const answerPaths: ReadonlySet<string> = new Set(
  ['/chat/completions', '/messages', '/responses'].flatMap((path) => [path, `/v1${path}`]),
);
const wantsAnswer = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'POST' && answerPaths.has(routeOptions.url ?? '');
const isClientError = (status: number): boolean => status >= 400 && status < 500;
const IDLE_CHECK_MS = 50;
/** ms that open answers get to finish when the service stops */
const ANSWERS_LIMIT_MS = 5_000;
/** ms after which the server closes all connections: by then every answer that was cut short is recorded */
const CONNECTIONS_LIMIT_MS = 7_500;
const DISCARD_LIMIT_MS = 5_000;
/** ms that a client gets to read the response to an invalid HTTP request */
const LINGER_MS = 1_000;
/** ms between two checks for late connections */
const CHECK_INTERVAL_MS = 5_000;
/** Open connections, by server. */
const connections = new WeakMap<FastifyInstance, ReadonlySet<Socket>>();

type HttpDeps = {
  readonly config: ServingConfig;
  readonly access: Access;
  readonly quota: KeyQuota;
  readonly metrics: Pick<ServingMetrics, 'requests'>;
  readonly logger: Logger;
  /** Aborts when open answers must be cut short. */
  readonly ending: AbortSignal;
};

type ServerOptions = {
  readonly readiness: Readiness;
  readonly registry: Registry;
  readonly registerRoutes: (server: FastifyInstance) => void;
};

/**
 * The HTTP server: access, limits, bodies and errors. Every error response has the shape of the API that was
 * called.
 */
export async function createServer(
  deps: HttpDeps,
  { readiness, registry, registerRoutes }: ServerOptions,
): Promise<FastifyInstance> {
  const { config, access, metrics, quota, logger } = deps;
  const server = openFastify(config);
  const sockets = limitConnections(server.server, config.maxConnections);
  connections.set(server, sockets.open);
  const unknownRequest = watchRoutes(server);
  server.setNotFoundHandler(async (request, reply) => {
    throw unknownRequest(request, reply);
  });
  await allowOrigins(server, config.corsOrigins);
  server.removeContentTypeParser('text/plain');
  server.removeContentTypeParser('application/json');
  decorateCaller(server);
  readJsonBodies(server, {
    limits: config,
    needsKey: access.needsKey,
    keyOf: (request) => callerOf(request).keyId,
  });
  const letIn = createDoor(deps);
  const isOpen = isOpenPath(config.host);
  server.addHook('onRequest', async (request, reply) => {
    countAtClose(metrics, request, reply);
    void reply.header('x-request-id', request.id);
    if (readsMessagesErrors(request)) void reply.header('request-id', request.id);
    if (!isOpen(request)) await letIn(request);
    if (request.is404) throw unknownRequest(request, reply);
  });
  server.addHook('preHandler', async ({ raw: { socket } }, reply) => {
    sockets.began(socket);
    reply.raw.once('close', () => sockets.ended(socket));
  });
  server.addHook('onResponse', async (request, reply) => {
    const caller = callerIfKnown(request);
    if (caller !== undefined && wantsAnswer(request) && isClientError(countedStatus(reply.raw)))
      quota.refused(caller);
  });
  server.setErrorHandler((error, request, reply) => sendError(deps, error, request, reply));
  registerHealth(server, readiness, registry, { logger });
  registerRoutes(server);
  return server;
}

/** Counts a request when its answer ends, also if the client leaves before it; `onResponse` is not called then. */
function countAtClose(
  { requests }: HttpDeps['metrics'],
  request: FastifyRequest,
  { raw }: FastifyReply,
): void {
  raw.once('close', () => {
    requests.inc({ route: request.routeOptions.url ?? 'none', status: countedStatus(raw) });
  });
}

function openFastify({ maxBodyBytes, requestTimeoutMs }: ServingConfig): FastifyInstance {
  const bodyLimit = mostBodyBytes({ maxBodyBytes }, true);
  return fastify({
    logger: false,
    bodyLimit,
    requestTimeout: 2 * requestTimeoutMs, // late bodies are refused before this
    http: { connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, requestTimeoutMs) },
    genReqId: () => `req_${randomUUID()}`,
    routerOptions: { maxParamLength: 512 },
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests that arrived before the end are answered
    frameworkErrors: (error, request, reply) => {
      const failure = asServingError(error, bodyLimit);
      void (reply as FastifyReply).code(failure.status).send(bodyOf(request, failure));
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, requestTimeoutMs),
  });
}

/** Answers a client whose bytes are not a valid HTTP request, or came too late. */
function refuseMalformed(error: Error & { readonly code?: string }, socket: Socket, timeoutMs: number): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref(); // even if the client does not read the response
  if (!socket.writable) return;
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const body = JSON.stringify(
    errorBody(
      isLate
        ? ServingError.REQUEST_TIMEOUT({ seconds: timeoutMs / 1_000 })
        : ServingError.INVALID_REQUEST({ detail: 'This is not a valid HTTP request.' }),
    ),
  );
  socket.end(
    `HTTP/1.1 ${isLate ? '408 Request Timeout' : '400 Bad Request'}\r\n` +
      `content-type: application/json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Beyond loopback a probe may use any host name; on loopback a foreign name may belong to a web page. */
const isOpenPath =
  (host: string) =>
  ({ url, headers }: FastifyRequest): boolean =>
    alwaysOpen.has(url) || (url === '/readyz' && (!isLoopback(host) || isLoopback(hostName(headers.host))));

/** Finds the caller of each request and checks its access and limits. The result throws ServingError. */
function createDoor({ config, access, quota, ending }: HttpDeps): (request: FastifyRequest) => Promise<void> {
  const wrongKeys = createWrongKeys(monotonicNow, (ms) =>
    pause(ms, undefined, { ref: false, signal: ending }).catch(() => {}),
  );
  /** A session key takes precedence over an access key, in whichever header it is. */
  const findCaller = async (request: FastifyRequest): Promise<Caller | undefined> => {
    const shown = [request.headers.authorization, apiKeyOf(request)];
    const sessionKey = shown.find((header) => isSessionKey(bearerOf(header) ?? ''));
    if (sessionKey !== undefined) return access.callerOf(sessionKey);
    return (await access.callerOf(shown[0])) ?? (await access.callerOf(shown[1]));
  };
  return async (request) => {
    const caller = await findCaller(request);
    if (caller === undefined) {
      await wrongKeys.refuse(request.socket.remoteAddress);
      throw ServingError.INVALID_API_KEY();
    }
    if (!(await access.needsKey()) && !isLoopback(hostName(request.headers.host))) {
      throw ServingError.HOST_NOT_LOOPBACK({ host: hostName(request.headers.host).slice(0, 200) });
    }
    const { adapter } = caller;
    if (adapter !== undefined) refuseUnserved(adapter, config.adapters);
    // a session must not see what other callers do
    if (caller.sessionKey !== undefined && request.routeOptions.url === '/metrics')
      throw ServingError.NOT_FOR_SESSION_KEYS();
    // A request that is refused unread has no caller yet, so it does not count as refused: retries would prolong the wait.
    if (wantsAnswer(request)) admitUnread(quota, caller);
    else admitOther(quota, caller);
    setCaller(request, caller);
  };
}

async function sendError(
  { config, logger }: HttpDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const failure = asServingError(error, mostBodyBytes(config, true));
  if (!request.raw.complete) {
    await discardBody(request.raw, Math.min(DISCARD_LIMIT_MS, config.requestTimeoutMs));
    if (!request.raw.complete) void reply.header('connection', 'close'); // do not wait for the rest
  }
  if (failure.status >= 500) logFailure(logger, request, error, failure);
  if (failure.retryAfterSeconds !== undefined) void reply.header('retry-after', failure.retryAfterSeconds);
  return reply.code(failure.status).send(bodyOf(request, failure));
}

/** Logs temporary conditions (503) without a stack trace: they are not faults in the code. */
function logFailure(
  logger: Logger,
  { id: request, url }: FastifyRequest,
  error: unknown,
  { status, code, message }: ServiceError,
): void {
  const { cause } = error as Error;
  const reason = cause instanceof Error ? cause.message : message;
  if (status === 503) logger.warn({ request, url, code, reason }, 'service unavailable');
  else logger.error({ err: error, request, url }, 'request failed');
}

const bodyOf = (request: FastifyRequest, failure: ServiceError): object =>
  readsMessagesErrors(request) ? messagesError(failure, request.id) : errorBody(failure);

/** The key in the header that Anthropic's clients use, in the form of an `Authorization` header. */
const apiKeyOf = ({ headers }: FastifyRequest): string | undefined =>
  typeof headers['x-api-key'] === 'string' ? `Bearer ${headers['x-api-key']}` : undefined;

/**
 * Closes the server when the last open answer has ended. Clients keep connections open, so idle ones are closed.
 * After `ANSWERS_LIMIT_MS` the open answers are cut short (`cut`); after `CONNECTIONS_LIMIT_MS` all connections
 * are closed.
 *
 * @param atOnce cuts open answers short now, because the next server needs this port
 */
export async function closeServer(server: FastifyInstance, cut: () => void, atOnce: boolean): Promise<void> {
  if (atOnce) cut();
  const closeIdle = () => {
    server.server.closeIdleConnections();
    // Node counts a connection that never sent a request as busy; clients open and keep such connections
    for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
  };
  const timers = [
    setInterval(closeIdle, IDLE_CHECK_MS),
    setTimeout(cut, ANSWERS_LIMIT_MS),
    setTimeout(() => server.server.closeAllConnections(), CONNECTIONS_LIMIT_MS),
  ];
  await server.close().finally(() => timers.map(clearTimeout));
}

/**
 * Reads and discards the rest of a body. Without this, a client that is still sending would see a broken connection
 * instead of the error response. Stops after the limit.
 */
async function discardBody(request: IncomingMessage, limitMs: number): Promise<void> {
  if (request.readableEnded || request.destroyed) return;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  request
    .once('end', resolve)
    .once('close', resolve)
    .once('error', () => resolve());
  request.resume();
  await withDeadline(over, limitMs, () => {});
}
