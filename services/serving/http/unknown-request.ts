import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../../../shared/runtime/errors.ts';
import { ServingError } from '../errors.ts';

/**
 * The error for a request without a route: an unknown path, or an unsupported method with the supported ones in `Allow`.
 * Call this before adding routes, and use the result before reading a body.
 */
export function watchRoutes(server: FastifyInstance) {
  const methods = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set();
    for (const name of [method].flat()) known.add(name);
    methods.set(url, known);
  });
  const allowed = (path: string): readonly string[] =>
    [...methods].flatMap(([url, known]) => (matches(url, path) ? [...known] : []));
  return (request: FastifyRequest, reply: FastifyReply): ServiceError => {
    const path = request.url.split('?')[0]!;
    const allowedMethods = allowed(path);
    const details = { method: request.method, path: path.slice(0, 200) };
    if (allowedMethods.length === 0) return ServingError.ROUTE_NOT_FOUND(details);
    void reply.header('allow', allowedMethods.join(', '));
    return ServingError.METHOD_NOT_ALLOWED(details);
  };
}

/** Whether a path matches a route: `:name` matches one segment, `*` the rest. */
function matches(url: string, path: string): boolean {
  if (url.endsWith('/*')) return path.startsWith(url.slice(0, -1));
  const [segments, pattern] = [path.split('/'), url.split('/')];
  return (
    segments.length === pattern.length &&
    pattern.every((step, at) => (step.startsWith(':') ? segments[at] !== '' : step === segments[at]))
  );
}
