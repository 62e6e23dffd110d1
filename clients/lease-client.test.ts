import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLeaseClient, refuseOlderServer } from './lease-client.ts';

/** A server that answers every request with this. */
async function answering(status: number, body: object): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a server that does not know environments is named as such before the first attempt', async () => {
  const unknown = { error: { message: 'GET /rl/environments: no such path', code: 'unknown_path' } };
  const older = createLeaseClient(await answering(404, unknown), undefined);
  await expect(refuseOlderServer(older)).rejects.toThrow(
    'the server is of an earlier release, which knows no environments',
  );
  const current = createLeaseClient(await answering(200, { data: [] }), undefined);
  await refuseOlderServer(current);
  const closed = createLeaseClient(
    await answering(401, { error: { message: 'no key', code: 'unauthorized' } }),
    undefined,
  );
  await refuseOlderServer(closed); // opening a session reports what is wrong with the key
});
