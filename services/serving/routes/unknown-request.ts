import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';

/**
 * What is wrong with a request that no route takes: the path, or the method only; `Allow` then names those
 * that are taken. To be called before any route is added, and to be asked before a body is read.
 */
export function watchRoutes(server: FastifyInstance) {
  const methods = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    methods.set(url, known);
  });
  const allowed = (path: string): readonly string[] =>
    [...methods].flatMap(([url, known]) => (isOf(url, path) ? [...known] : []));
  return (request: FastifyRequest, reply: FastifyReply): ServiceError => {
    const path = request.url.split('?')[0]!;
    const taken = allowed(path);
    const details = { method: request.method, path: path.slice(0, 200) };
    if (taken.length === 0) return ServingError.ROUTE_NOT_FOUND(details);
    void reply.header('allow', taken.join(', '));
    return ServingError.METHOD_NOT_ALLOWED(details);
  };
}

/** A route's `:name` takes one step of a path, its `*` all that is left. */
function isOf(url: string, path: string): boolean {
  if (url.endsWith('/*')) return path.startsWith(url.slice(0, -1));
  const [steps, taken] = [path.split('/'), url.split('/')];
  return (
    steps.length === taken.length &&
    taken.every((step, at) => (step.startsWith(':') ? steps[at] !== '' : step === steps[at]))
  );
}
