import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { servingForSuite } from './serving-process.ts';

const KEY = 'a-key-for-bodies-of-24-characters';
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

describe('bodies', () => {
  const on = servingForSuite([
    '--api-key',
    KEY,
    '--max-body-bytes',
    '3000000',
    '--max-body-bytes-per-key',
    '4000000',
    '--request-timeout-ms',
    '2000',
    '--max-connections',
    '20',
  ]);

  const headers = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` };
  const post = (path: string, body: string) =>
    fetch(`${on.serving.url}${path}`, { method: 'POST', headers, body });

  /** Sends the head of a request and the beginning of its body. */
  const begin = async (path: string, { key = KEY, length = 1_000 } = {}) => {
    const { port, hostname } = new URL(on.serving.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    let heard = '';
    socket.on('data', (data) => {
      heard += data;
    });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `authorization: Bearer ${key}\r\ncontent-length: ${length}\r\n\r\n{"model":`,
    );
    return { socket, heard: () => heard };
  };

  const messages = [{ role: 'user', content: 'hello' }];
  const ask = { model: 'clawloop', messages, max_tokens: 2 };

  test('a large body is answered and recorded like a small one', async () => {
    const padding = 'x'.repeat(1_500_000);
    const response = await post('/v1/chat/completions', JSON.stringify({ ...ask, metadata: { padding } }));
    expect(response.status).toBe(200);
    const { id } = (await response.json()) as { readonly id: string };
    expect((await on.folder.interaction(id)).messages).toMatchObject(messages);
  });

  test.each([
    ['too many values', { ...ask, metadata: { a: Array(300_000).fill(0) } }, 400, 'values'],
    ['too many messages', { ...ask, messages: Array(20_001).fill(messages[0]) }, 400, 'messages'],
    ['a model with a long name', { ...ask, model: 'm'.repeat(1_000) }, 400, 'model'],
    ['too many bytes', { ...ask, metadata: { a: 'x'.repeat(3_000_000) } }, 413, '3000000 bytes'],
  ])('%s are refused by name, in the shape of each API', async (_, body, status, said) => {
    const { messages: input, max_tokens: _most, ...others } = body;
    const chat = await post('/v1/chat/completions', JSON.stringify(body));
    expect(chat.status).toBe(status);
    expect(await chat.json()).toMatchObject({ error: { message: expect.stringContaining(said) } });
    const anthropic = await post('/v1/messages', JSON.stringify(body));
    expect(anthropic.status).toBe(status);
    const { type, error } = (await anthropic.json()) as { type: string; error: { message: string } };
    expect([type, error.message]).toEqual(['error', expect.stringContaining(said)]);
    const response = await post('/v1/responses', JSON.stringify({ ...others, input }));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  test('bodies of the session protocol have the same limits', async () => {
    const values = await post('/rl/start_session', `{"task_id":"a","x":[${'0,'.repeat(300_000)}0]}`);
    expect(values.status).toBe(400);
    expect(await values.json()).toMatchObject({ error: { message: expect.stringContaining('values') } });
    const nested = await post(
      '/rl/start_session',
      `{"task_id":"a","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
    );
    expect(nested.status).toBe(400);
    const large = await post('/rl/start_session', `{"task_id":"${'x'.repeat(3_000_000)}"}`);
    expect(large.status).toBe(413);
  });

  test.each([
    ['logit_bias', { logit_bias: Object.fromEntries(Array.from({ length: 1_025 }, (_, id) => [id, 1])) }],
    ['stop', { stop: 'x'.repeat(2_000) }],
    [
      'messages[0].content',
      { messages: [{ role: 'user', content: Array(10_001).fill({ type: 'text', text: '' }) }] },
    ],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'x'.repeat(600) } }] }],
  ])('%s is bounded', async (param, fields) => {
    const refused = await post('/v1/chat/completions', JSON.stringify({ ...ask, ...fields }));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: expect.stringContaining(param) } });
  });

  test('the open bytes of a key are limited, including announced ones', async () => {
    const body = JSON.stringify({ ...ask, metadata: { padding: 'x'.repeat(1_500_000) } });
    await until('the announced bytes count', async () => {
      // an announcement ends when its body does not arrive in time
      await begin('/v1/chat/completions', { length: 2_900_000 });
      const response = await post('/v1/messages', body);
      if (response.status !== 429) return false;
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
      return true;
    });
    for (const socket of sockets) socket.destroy();
    await until(
      'they no longer count',
      async () => (await post('/v1/chat/completions', body)).status === 200,
    );
  });

  test('a body that does not arrive is refused in time, and its connection is closed', async () => {
    const { socket, heard } = await begin('/v1/chat/completions');
    await once(socket, 'close');
    expect(heard()).toMatch(/^HTTP\/1.1 408 /);
    expect(heard()).toContain('"code":"request_timeout"');
  });

  test('after a wrong key the rest of a slow body is not waited for', async () => {
    const { socket, heard } = await begin('/v1/chat/completions', { key: 'wrong' });
    const drip = setInterval(() => socket.write('x'), 100);
    await once(socket, 'close').finally(() => clearInterval(drip));
    expect(heard()).toMatch(/^HTTP\/1.1 401 /);
    expect(heard().toLowerCase()).toContain('connection: close');
  });

  test('a client with many idle connections blocks no other client', async () => {
    const { port, hostname } = new URL(on.serving.url);
    for (let count = 0; count < 60; count++) {
      const socket = connect(Number(port), hostname).on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
    }
    expect((await post('/v1/chat/completions', JSON.stringify(ask))).status).toBe(200);
    await until('most of them are closed', () => sockets.filter(({ closed }) => !closed).length <= 20);
  });
});
