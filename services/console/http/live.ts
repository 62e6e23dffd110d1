import type { FastifyInstance } from 'fastify';
import { ConsoleError } from '../errors.ts';

/** ms; proxies close a connection on which nothing comes for a minute */
const KEEP_ALIVE_MS = 15_000;
/** Bytes that wait for a slow page; beyond that it is left behind and connects again. */
const MOST_WAITING = 256 * 1024;

export type LiveHub = {
  readonly send: (message: object) => void;
  readonly listeners: () => number;
  readonly close: () => void;
};

/** `GET /api/live`: server-sent events. The first message is the state now. */
export function registerLive(
  server: FastifyInstance,
  { most, now }: { readonly most: number; readonly now: () => Promise<object> },
): LiveHub {
  const listeners = new Set<{ readonly write: (text: string) => void; readonly end: () => void }>();
  const textOf = (message: object) => `data: ${JSON.stringify(message)}\n\n`;
  server.get('/api/live', (_request, reply) => {
    if (listeners.size >= most) throw ConsoleError.TOO_MANY_LISTENERS({ most, retryAfterSeconds: 10 });
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const listener = {
      write: (text: string) => {
        if (raw.writableLength > MOST_WAITING) raw.destroy();
        else raw.write(text);
      },
      end: () => raw.end(),
    };
    listeners.add(listener);
    const timer = setInterval(() => listener.write(': still here\n\n'), KEEP_ALIVE_MS);
    raw.on('close', () => {
      clearInterval(timer);
      listeners.delete(listener);
    });
    now().then(
      (state) => listener.write(`retry: 1000\n${textOf(state)}`),
      () => raw.destroy(), // it connects again
    );
  });
  return {
    send: (message) => {
      if (listeners.size === 0) return;
      const text = textOf(message);
      for (const { write } of listeners) write(text);
    },
    listeners: () => listeners.size,
    close: () => {
      for (const { end } of listeners) end();
    },
  };
}
