import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export type FakeCall = {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
};

export type FakeHandler = (call: FakeCall, response: ServerResponse) => void | Promise<void>;

export type FakeServer = {
  readonly origin: string;
  /** What was asked so far, the latest last; questions after its health and its models are left out. */
  readonly calls: FakeCall[];
  /** Connections that were made so far. */
  readonly connections: () => number;
  /** Answers that the other side gave up. */
  readonly abandoned: () => number;
  /** Nobody listens any more; what was open is cut. */
  readonly stop: () => Promise<void>;
  /** Listens again, on the same port. */
  readonly start: () => Promise<void>;
};

const watching = new Set(['/health', '/v1/models']);

/** An HTTP server of a test: routes by path, what came in kept. */
export async function fakeServer(routes: Readonly<Record<string, FakeHandler>>): Promise<FakeServer> {
  const calls: FakeCall[] = [];
  let connections = 0;
  let abandoned = 0;
  let port = 0;
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const part of request) text += part;
    const path = request.url ?? '';
    const call = { path, headers: request.headers, body: text === '' ? {} : JSON.parse(text) };
    if (!watching.has(path)) calls.push(call);
    response.on('close', () => {
      if (!response.writableFinished) abandoned += 1;
    });
    const handler = routes[path];
    if (handler === undefined) sendJson(response, 404, { detail: 'Not Found' });
    else await handler(call, response);
  };
  let server: Server;
  const start = async () => {
    server = createServer((request, response) => void onRequest(request, response).catch(() => {}));
    server.keepAliveTimeout = 5_000; // as uvicorn's
    server.on('connection', () => {
      connections += 1;
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  };
  await start();
  return {
    get origin() {
      return `http://127.0.0.1:${port}`;
    },
    calls,
    connections: () => connections,
    abandoned: () => abandoned,
    stop: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    start,
  };
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Server-sent events, one after another. */
export const sendEvent = (response: ServerResponse, data: object | '[DONE]'): boolean =>
  response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
