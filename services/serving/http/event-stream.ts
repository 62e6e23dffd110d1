import type { FastifyReply } from 'fastify';

type EventStream = {
  /** Sends status and headers. After this, no error response is possible. */
  readonly open: (headers: Readonly<Record<string, string>>) => void;
  readonly isOpen: () => boolean;
  readonly send: (frame: Frame) => void;
  /** @param mark last line of data, if the API has one */
  readonly end: (mark: string | undefined) => void;
  /** Ends the stream with an error. The end of the answer is missing, so clients retry. */
  readonly fail: (frames: readonly Frame[]) => void;
};

/** One event; `event` is its name, if the API has named events. */
export type Frame = { readonly event?: string; readonly data: object };

/**
 * Sends server-sent events on a hijacked reply. Frames of one tick are written together, because each write is a
 * system call.
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
    fail: (frames) => {
      frames.forEach(send);
      end();
    },
  };
}
