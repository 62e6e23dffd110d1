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

/** @throws EnvironmentFailure `environment-unavailable` */
export async function connect(url: string, limitMs: number, signal: AbortSignal): Promise<Connection> {
  const socket = new WebSocket(url);
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
    if (waiting === undefined) replies.push(data);
    else waiting.take(data);
  });
  const abort = () => socket.close();
  signal.addEventListener('abort', abort, { once: true });
  const close = () => {
    signal.removeEventListener('abort', abort);
    socket.close();
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
  return {
    ask: async (message, askSignal) => {
      askSignal.throwIfAborted();
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
