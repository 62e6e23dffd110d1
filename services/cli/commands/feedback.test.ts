import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { writeRunning } from '../up/running.ts';
import { feedback } from './feedback.ts';
import { openclaw } from './openclaw.ts';

/** A data folder on which something runs that answers so. */
async function folderWith(onRequest: RequestListener): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-feedback-'));
  const server = createServer(onRequest);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(root, { recursive: true, force: true });
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeRunning(dataFolder(root).running, { supervisor: process.pid, services: {}, endpoint });
  return root;
}

const silently = () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
};

test('feedback and the OpenClaw settings use the ClawLoop of the data folder', async () => {
  const asked: string[] = [];
  silently();
  const root = await folderWith((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const model = { id: 'clawloop', max_model_len: 32_768, clawloop: { live: true, context: 'window' } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [model] }));
  });
  expect(await feedback.run(['some-id', 'up', '--data-folder', root])).toBe(0);
  expect(await openclaw.run(['config', '--data-folder', root])).toBe(0);
  expect(asked).toEqual(['POST /v1/feedback', 'GET /v1/models']);
});

test('another server, or an invalid reward, is refused with the reason', async () => {
  const root = await folderWith((_request, response) => {
    response.writeHead(501).end('<!DOCTYPE html>');
  });
  const run = (...words: string[]) => feedback.run(['some-id', ...words, '--data-folder', root]);
  await expect(run('up')).rejects.toThrow(/not a ClawLoop: status 501/);
  for (const reward of ['good', '', '1.5']) await expect(run('--reward', reward)).rejects.toThrow('--reward');
});
