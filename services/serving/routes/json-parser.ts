import type { FastifyInstance } from 'fastify';

/** One of these stands in every text that could set a prototype, spelt out or escaped. */
const suspicious = ['__proto__', 'constructor', '\\u00'];

/**
 * Reads bodies as Fastify does, which searches each for names that set a prototype. That takes as long as to
 * parse it; here only a body that may have one is searched so closely.
 */
export function parseJsonQuickly(server: FastifyInstance): void {
  const careful = server.getDefaultJsonParser('error', 'error');
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body as string;
    if (!suspicious.some((part) => text.includes(part))) {
      try {
        return done(null, JSON.parse(text));
      } catch {} // said as Fastify says it
    }
    careful(request, text, done);
  });
}
