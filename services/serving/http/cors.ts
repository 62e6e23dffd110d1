import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Paths for operators; web pages do not need them. */
const operations: ReadonlySet<string> = new Set(['/health', '/healthz', '/readyz', '/metrics']);

/** s that a browser may cache the preflight response */
const MAX_AGE_SECONDS = 600;

/**
 * Allows requests from web pages of these origins. Call this before the access check, because a browser's preflight
 * request has no key. Without origins, nothing changes.
 */
export async function allowOrigins(server: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  const isOpen = ({ url }: FastifyRequest): boolean => !operations.has(url.split('?')[0]!);
  await server.register(cors, {
    delegator: async (request: FastifyRequest) => ({
      origin: isOpen(request) ? [...origins] : false,
      methods: ['GET', 'HEAD', 'POST', 'DELETE'],
      exposedHeaders: [
        'x-request-id',
        'request-id',
        'retry-after',
        'x-clawloop-version',
        'idempotent-replayed',
      ],
      maxAge: MAX_AGE_SECONDS,
      strictPreflight: false, // its error response would have a different shape
    }),
  });
}
