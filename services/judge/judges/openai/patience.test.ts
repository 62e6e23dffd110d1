import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { completeChat } from './chat-completion.ts';

const asked = Promise.withResolvers<ServerResponse>();
const server = createServer((_, response) => asked.resolve(response));
afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
});

test('only the signal ends an answer that takes longer than five minutes', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { port } = server.address() as AddressInfo;
  const at = { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: undefined, model: 'm' };
  const question = { ...at, temperature: 0, maxTokens: 1 };
  const answer = completeChat(question, [], 1, new AbortController().signal);
  answer.catch(() => undefined);
  const response = await asked.promise;
  await vi.advanceTimersByTimeAsync(900_000);
  response.end(JSON.stringify({ choices: [{ message: { content: 'slow' } }] }));
  expect(await answer).toMatchObject({ text: 'slow' });
});
