import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type KillingProxy = {
  readonly url: string;
  /** Calls `kill` at the request with this number, from 0: before it is passed on, or after its answer came back. */
  readonly arm: (at: number, when: 'before' | 'after', kill: () => void) => void;
  /** requests since it was armed */
  readonly count: () => number;
  readonly close: () => Promise<void>;
};

/** Passes requests on to a server, and kills their client at a chosen point. */
export async function killingProxy(target: () => string): Promise<KillingProxy> {
  let armed = { at: Number.POSITIVE_INFINITY, when: 'before' as 'before' | 'after', kill: () => {} };
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    const isDue = count++ === armed.at;
    if (isDue && armed.when === 'before') {
      armed.kill();
      incoming.destroy();
      return;
    }
    pass(incoming, outgoing, target(), isDue ? armed.kill : undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arm: (at, when, kill) => {
      armed = { at, when, kill };
      count = 0;
    },
    count: () => count,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: string,
  kill: (() => void) | undefined,
): void {
  const { host: _, ...headers } = incoming.headers;
  const onward = request(`${target}${incoming.url}`, { method: incoming.method, headers }, (answer) => {
    if (kill !== undefined) {
      // the server has done its work, and its client dies before it reads the answer
      answer.resume().once('end', kill);
      return;
    }
    outgoing.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  incoming.pipe(onward);
}
