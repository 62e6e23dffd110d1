import type { FastifyReply } from 'fastify';

export type EventStream = {
  /** Sends status and headers; from here on no error response is possible. */
  readonly open: (headers: Readonly<Record<string, string>>) => void;
  readonly isOpen: () => boolean;
  readonly send: (data: object) => void;
  /** `[DONE]`, as OpenAI ends a stream. */
  readonly end: () => void;
  /** An error in mid-stream: no finish_reason was sent, so clients try again. */
  readonly fail: (data: object) => void;
};

/** Server-sent events on a reply that Fastify then leaves to us. */
export function openEventStream(reply: FastifyReply): EventStream {
  const raw = reply.raw;
  let open = false;
  const write = (data: string) => {
    if (!raw.destroyed && !raw.writableEnded) raw.write(`data: ${data}\n\n`);
  };
  return {
    open: (headers) => {
      open = true;
      reply.hijack();
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        ...headers,
      });
      raw.socket?.setNoDelay(true);
    },
    isOpen: () => open,
    send: (data) => write(JSON.stringify(data)),
    end: () => {
      write('[DONE]');
      raw.end();
    },
    fail: (data) => {
      write(JSON.stringify(data));
      raw.end();
    },
  };
}
