import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { limitConnections } from './connections.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listening(most: number) {
  const server = createServer();
  const connections = limitConnections(server, most);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    closers.push(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return { server, connections, port, open };
}

test('the oldest idle connection is closed for a new one', async () => {
  const { server, connections, open, port } = await listening(3);
  const requestReceived = new Promise<void>((resolve) => {
    server.on('request', ({ socket }, response) => {
      connections.began(socket);
      resolve();
      closers.push(() => response.end());
    });
  });
  const busy = request({ port, host: '127.0.0.1' }).on('error', () => {});
  busy.end();
  await requestReceived;
  const idle = await open();
  const isClosed = once(idle, 'close');
  await open();
  await open(); // the fourth
  await isClosed;
  expect(connections.open.size).toBe(3);
  expect(busy.destroyed).toBe(false);
});

test('the new connection is closed if all others wait for answers', async () => {
  const { server, connections, open } = await listening(2);
  server.on('connection', connections.began);
  const kept = [await open(), await open()];
  const refused = await open();
  await once(refused, 'close');
  expect(kept.map(({ destroyed }) => destroyed)).toEqual([false, false]);
});
