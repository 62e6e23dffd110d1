import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type OtlpReceiver = {
  readonly url: string;
  /** bodies of the requests so far */
  readonly bodies: readonly Buffer[];
  readonly headers: readonly string[];
  readonly close: () => Promise<void>;
};

/** Receives the requests of an OTLP/HTTP exporter, and keeps their bodies unparsed. `status`: of every answer. */
export async function startOtlpReceiver(status = 200): Promise<OtlpReceiver> {
  const bodies: Buffer[] = [];
  const headers: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    headers.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
    bodies.push(body);
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    headers,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
