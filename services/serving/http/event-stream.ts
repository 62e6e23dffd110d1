import type { FastifyReply } from 'fastify';

type EventStream = {
  /** Sends status and headers, unless they were sent. After this, no error response is possible. */
  readonly open: (headers?: Readonly<Record<string, string>>) => void;
  readonly isOpen: () => boolean;
  readonly send: (frame: Frame) => void;
  /** @param mark last line of data, if the API has one */
  readonly end: (mark: string | undefined) => void;
  /** Ends the stream with an error. The end of the answer is missing, so clients retry. */
  readonly fail: (frames: readonly Frame[]) => void;
  /** The stream has ended or will not be opened: nothing more is sent by itself. */
  readonly stopWaiting: () => void;
};

/** One event; `event` is its name, if the API has named events. */
export type Frame = { readonly event?: string; readonly data: object };

export type KeepAlive = {
  /** ms without a write after which something is sent; 0: never */
  readonly afterMs: number;
  /** Events that say nothing new. None: a comment, which every parser of events skips. */
  readonly frames: () => readonly Frame[];
};

const COMMENT = ': keep-alive';

/**
 * Sends server-sent events on a hijacked reply. Frames of one tick are written together, because each write is a
 * system call.
 *
 * @param keepAlive opens the stream if nothing else does, so that neither client nor proxy takes a long wait for a
 *   broken connection
 */
export function openEventStream(reply: FastifyReply, keepAlive?: KeepAlive): EventStream {
  const raw = reply.raw;
  let open = false;
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    if (waiting !== '' && !raw.destroyed && !raw.writableEnded) raw.write(waiting);
    waiting = '';
    timer?.refresh();
  };
  const write = (lines: string) => {
    if (waiting === '') process.nextTick(flush);
    waiting += `${lines}\n\n`;
  };
  const send = ({ event, data }: Frame) =>
    write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}`);
  const stopWaiting = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const end = () => {
    stopWaiting();
    if (!raw.writableEnded) raw.end(waiting);
    waiting = '';
  };
  const openOnce = (headers: Readonly<Record<string, string>> = {}) => {
    if (open) return;
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
  };
  const keepOpen = ({ frames }: KeepAlive) => {
    timer?.refresh();
    if (raw.writableNeedDrain) return; // the client does not read what it has
    openOnce();
    const news = frames();
    if (news.length === 0) write(COMMENT);
    else news.forEach(send);
  };
  if (keepAlive !== undefined && keepAlive.afterMs > 0) {
    timer = setTimeout(keepOpen, keepAlive.afterMs, keepAlive).unref();
    raw.once('close', stopWaiting);
    if (raw.destroyed) stopWaiting();
  }
  return {
    open: openOnce,
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
    stopWaiting,
  };
}
