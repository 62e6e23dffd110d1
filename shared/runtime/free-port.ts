import { once } from 'node:events';
import { createServer } from 'node:net';

type Ports = {
  readonly first: number;
  readonly count: number;
  /** which of them is tried first; processes at the same time begin elsewhere */
  readonly start: number;
};

/**
 * Gives free ports of 127.0.0.1 for processes that listen on them later, each once until all were given. Choose them
 * below the ports that systems assign to connections (from 32,768), so that no connection takes one meanwhile. The
 * result throws an error when no port is free.
 */
export function freePorts({ first, count, start }: Ports): () => Promise<number> {
  let next = start;
  return async () => {
    for (let tries = 0; tries < count; tries++) {
      const port = first + (next++ % count);
      if (await isFree(port)) return port;
    }
    throw new Error(`no port from ${first} to ${first + count - 1} is free`);
  };
}

const COUNT = 2_700;

/** A free port of 127.0.0.1. It is not reserved. @throws Error when there is none */
export const freePort = freePorts({
  first: 30_000,
  count: COUNT,
  start: Math.floor(Math.random() * COUNT),
});

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!listens) return false;
  server.close();
  await once(server, 'close');
  return true;
}
