import type { Socket } from 'node:net';
import { Agent, buildConnector, WebSocket } from 'undici';
import { unlessAborted, withDeadline } from '../../../shared/lang/async.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { environmentFailure } from '../environment-failure.ts';
import { Reply } from './wire.ts';

/** A WebSocket to an OpenEnv server: one environment session, one request at a time. */
export type Connection = {
  /**
   * Sends a message and waits for its reply.
   * @throws EnvironmentFailure `environment-lost` when the connection ends or `limitMs` pass before the reply
   */
  readonly ask: (message: object, signal: AbortSignal) => Promise<Reply>;
  readonly close: () => void;
};

/** ms for the server's part in closing a connection */
const CLOSE_LIMIT = 1_000;

/** A WebSocket, and how to end it even if the server takes no part: an open connection keeps this process alive. */
function openSocket(url: string) {
  const connector = buildConnector({});
  let connection: Socket | undefined;
  const dispatcher = new Agent({
    connect: (options, callback) =>
      connector(options, (...[error, opened]) => {
        connection = opened ?? undefined;
        if (opened === null) callback(error!, null);
        else callback(null, opened!);
      }),
  });
  const socket = new WebSocket(url, { dispatcher });
  const end = () => {
    socket.close();
    setTimeout(() => connection?.destroy(), CLOSE_LIMIT).unref();
  };
  return { socket, end };
}

/** @throws EnvironmentFailure `environment-unavailable` */
export async function connect(url: string, limitMs: number, signal: AbortSignal): Promise<Connection> {
  const { socket, end } = openSocket(url);
  // An OpenEnv server that is full opens the socket, sends an error and closes: replies may precede requests.
  const replies: unknown[] = [];
  let waiting:
    | { readonly take: (frame: unknown) => void; readonly lose: (reason: string) => void }
    | undefined;
  let lost: string | undefined;
  const opening = Promise.withResolvers<void>();
  const lose = (reason: string) => {
    lost ??= reason;
    opening.reject(environmentFailure('environment-unavailable', reason));
    waiting?.lose(lost);
  };
  socket.addEventListener('open', () => opening.resolve());
  socket.addEventListener('error', () => lose(`no connection to ${url}`));
  socket.addEventListener('close', ({ code }) => lose(`the server closed the connection (${code})`));
  socket.addEventListener('message', ({ data }) => {
    const taker = waiting;
    waiting = undefined; // one reply per request
    if (taker === undefined) replies.push(data);
    else taker.take(data);
  });
  signal.addEventListener('abort', end, { once: true });
  const close = () => {
    signal.removeEventListener('abort', end);
    end();
  };
  try {
    await withDeadline(opening.promise, limitMs, () => {
      throw environmentFailure(
        'environment-unavailable',
        `no connection to ${url} within ${limitMs / 1000} s`,
      );
    });
  } catch (error) {
    close();
    throw error;
  }

  const nextFrame = (): Promise<unknown> => {
    if (replies.length > 0) return Promise.resolve(replies.shift());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting = {
      take: resolve,
      lose: (reason) => reject(environmentFailure('environment-lost', reason)),
    };
    if (lost !== undefined) waiting.lose(lost);
    return promise.finally(() => (waiting = undefined));
  };
  let hasAsked = false;
  return {
    ask: async (message, askSignal) => {
      askSignal.throwIfAborted();
      if (hasAsked && replies.length > 0) {
        close(); // it would be taken for the reply to this request
        throw environmentFailure('environment-lost', 'the server sent a message without a request');
      }
      hasAsked = true;
      if (lost === undefined) socket.send(JSON.stringify(message));
      const onLate = () => {
        throw environmentFailure('environment-lost', `the server did not answer within ${limitMs / 1000} s`);
      };
      const frame = await unlessAborted(withDeadline(nextFrame(), limitMs, onLate), askSignal).catch(
        (error) => {
          close(); // a late reply must not be taken for the reply to the next request
          throw error;
        },
      );
      const reply = Reply.safeParse(parseJson(String(frame)));
      if (!reply.success)
        throw environmentFailure('environment-lost', 'the server sent a message that is not of OpenEnv');
      return reply.data;
    },
    close,
  };
}
