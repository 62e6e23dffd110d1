import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';

/** A request of a program, and how it was answered. */
export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** of a refusal, or of an answer that an error ended; otherwise undefined */
  readonly error: string | undefined;
};

export type WatchingProxy = {
  readonly url: string;
  /** The finished exchanges, in order of their ends. */
  readonly exchanges: readonly Exchange[];
  readonly close: () => Promise<void>;
};

/** Characters at the beginning and at the end of an answer that are searched for an error. */
const KEPT = 4_000;
/** An error in the middle of a stream, in the form of each API. */
const streamedError = /^(event: error|event: response\.failed|data: \{"error").*/m;

/** A proxy between a program and the server that changes nothing. */
export async function watchingProxy(target: string): Promise<WatchingProxy> {
  const exchanges: Exchange[] = [];
  const { hostname, port } = new URL(target);
  const pass = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url: path = '', headers } = request;
    const onward = send({ hostname, port, method, path, headers }, (answer) => {
      const { statusCode: status = 0 } = answer;
      let [start, end] = ['', ''];
      answer.on('data', (part: Buffer) => {
        if (start.length < KEPT) start += part;
        end = (end + part).slice(-KEPT);
      });
      answer.on('close', () => {
        const error = status >= 400 ? start : streamedError.exec(end)?.[0];
        exchanges.push({ method, path, status, error: error?.slice(0, 500) });
      });
      response.writeHead(status, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  };
  const server = createServer(pass);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    exchanges,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
