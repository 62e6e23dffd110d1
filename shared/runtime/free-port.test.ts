import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort, freePorts } from './free-port.ts';

test('each port is given once, and a port in use never', async () => {
  const first = await freePort();
  const next = freePorts({ first, count: 3, start: 0 });
  const server = createServer().listen(first + 1, '127.0.0.1');
  await once(server, 'listening');
  expect([await next(), await next()]).toEqual([first, first + 2]);
  const only = freePorts({ first: first + 1, count: 1, start: 0 });
  await expect(only()).rejects.toThrow(`no port from ${first + 1} to ${first + 1} is free`);
  server.close();
  await once(server, 'close');
  expect(await only()).toBe(first + 1);
});
