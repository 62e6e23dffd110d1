import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** For those who run the server: no page has to read them. */
const operations: ReadonlySet<string> = new Set(['/health', '/healthz', '/readyz', '/metrics']);

/** s that a browser may remember what it may ask */
const MAX_AGE_SECONDS = 600;

/**
 * Lets web pages of these origins ask. To be called before the door, since what a browser asks beforehand
 * carries no key. Without origins nothing changes.
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
      strictPreflight: false, // its refusal would have a shape of its own
    }),
  });
}
