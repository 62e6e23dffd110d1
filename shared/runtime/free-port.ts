import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections, so that no connection takes a port before its server does. */
const [FIRST, PORTS] = [30_000, 2_700];

/** A free port of 127.0.0.1. It is not reserved. @throws Error when there is none */
export async function freePort(): Promise<number> {
  const start = Math.floor(Math.random() * PORTS);
  for (let tried = 0; tried < PORTS; tried++) {
    const port = FIRST + ((start + tried) % PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port');
}

/** Whether a server can listen on a port now. */
export async function isFree(port: number): Promise<boolean> {
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
