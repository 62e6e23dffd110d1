import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pause } from '../../../shared/lang/async.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { bearerOf, isOperator, type KnownKeys } from '../../../shared/runtime/known-keys.ts';
import { createWrongKeys } from '../../../shared/runtime/wrong-keys.ts';
import { ConsoleError } from '../errors.ts';

/** Routes that need an operator; the page itself holds no data. */
const guarded = /^\/(?:api|serving|metrics)(?:\/|$)/;

/**
 * Lets in requests of the console's own page and of programs, with the key of an operator where keys exist. The page
 * sends its key in a header, never in a cookie, so another page cannot use it.
 */
export function guardRoutes(server: FastifyInstance, keys: KnownKeys, stopping: AbortSignal): void {
  const wrongKeys = createWrongKeys(monotonicNow, (ms) => pause(ms, stopping));
  server.addHook('onRequest', async (request) => {
    // the route, not the address: `/%61pi/turns` leads to `/api/turns`
    const { headers, method, routeOptions } = request;
    const route = routeOptions.url ?? '';
    if (isForeign({ headers, method, route })) throw ConsoleError.FOREIGN_ORIGIN();
    if (!guarded.test(route)) return;
    const secret = bearerOf(request.headers.authorization);
    const holder = await holderOf(keys, secret);
    if (holder === undefined) {
      if (secret !== undefined) await wrongKeys.refuse(request.socket.remoteAddress);
      throw ConsoleError.INVALID_KEY();
    }
    if (!isOperator(holder)) throw ConsoleError.NOT_AN_OPERATOR();
  });
}

const holderOf = async (keys: KnownKeys, secret: string | undefined) => {
  try {
    return (await keys.anonymous()) ?? (secret === undefined ? undefined : await keys.holderOf(secret));
  } catch (cause) {
    throw Object.assign(ConsoleError.KEYS_UNREADABLE({ retryAfterSeconds: 5 }), { cause });
  }
};

/** Browsers name the page that sends a request. A link from elsewhere may open the page, and nothing else. */
export function isForeign({
  headers,
  method,
  route,
}: Pick<FastifyRequest, 'headers' | 'method'> & { readonly route: string }): boolean {
  const site = headers['sec-fetch-site'];
  const isPage = method === 'GET' && !guarded.test(route);
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none' && !isPage) return true;
  const { origin } = headers;
  if (origin === undefined) return false;
  return hostOf(origin) !== headers.host;
}

/** `null` is the origin of files and sandboxed frames. */
function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}
