import type { FastifyReply } from 'fastify';

export type EventStream = {
  /** Sends status and headers; from here on no error response is possible. */
  readonly open: (headers: Readonly<Record<string, string>>) => void;
  readonly isOpen: () => boolean;
  readonly send: (frame: Frame) => void;
  /** @param mark a last line of data, where the API ends its streams with one */
  readonly end: (mark: string | undefined) => void;
  /** An error in mid-stream: no end of the answer was sent, so clients try again. */
  readonly fail: (frame: Frame) => void;
};

/** One event; `event` is its name, where the API names its events. */
export type Frame = { readonly event?: string; readonly data: object };

/**
 * Server-sent events on a reply that Fastify then leaves to us. What comes in one piece from the engine goes
 * out in one piece: each write is a call of the system.
 */
export function openEventStream(reply: FastifyReply): EventStream {
  const raw = reply.raw;
  let open = false;
  let waiting = '';
  const flush = () => {
    if (waiting !== '' && !raw.destroyed && !raw.writableEnded) raw.write(waiting);
    waiting = '';
  };
  const write = (lines: string) => {
    if (waiting === '') process.nextTick(flush);
    waiting += `${lines}\n\n`;
  };
  const send = ({ event, data }: Frame) =>
    write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}`);
  const end = () => {
    if (!raw.writableEnded) raw.end(waiting);
    waiting = '';
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
    send,
    end: (mark) => {
      if (mark !== undefined) write(`data: ${mark}`);
      end();
    },
    fail: (frame) => {
      send(frame);
      end();
    },
  };
}
