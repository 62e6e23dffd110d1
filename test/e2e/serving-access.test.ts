import { rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { createAccessKey } from '../../shared/runtime/access-keys.ts';
import { until } from './harness/clawloop.ts';
import { rlClient } from './rl-client.ts';
import { saysHi, scriptForEach } from './serving-on-script.ts';
import type { ServingProcess } from './serving-process.ts';

const on = scriptForEach();

const withKey = ({ url }: ServingProcess, apiKey: string) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const chat = (client: OpenAI) =>
  client.chat.completions.create({ model: 'clawloop', messages: [{ role: 'user', content: 'hi' }] });

/** Sends a request under a foreign host name, like a web page whose name was rebound to this machine. */
const statusUnder = (serving: ServingProcess, host: string, path = '/v1/models') =>
  new Promise<number | undefined>((resolve, reject) => {
    const call = request(`${serving.url}${path}`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on('error', reject).end();
  });

test('without a key the server stays on loopback', async () => {
  const { code, text } = await on.folder.startInVain(['--host', '0.0.0.0', ...on.engine]);
  expect(code).toBe(2);
  expect(text).toMatch(/refusing to listen on 0\.0\.0\.0 without an access key: .*clawloop keys create/);
});

test('beyond loopback /metrics requires a key; the health routes do not', async () => {
  const serving = await on.start('--host', '0.0.0.0', '--api-key', 'a-key-of-this-test');
  const url = serving.url.replace('0.0.0.0', '127.0.0.1');
  const status = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    (await fetch(`${url}${path}`, { headers })).status;
  expect(await status('/metrics')).toBe(401);
  expect(await status('/metrics', { authorization: 'Bearer a-key-of-this-test' })).toBe(200);
  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz')).toBe(200);
  expect(await status('/health')).toBe(200);
  const { api_key } = await rlClient(() => url).start('demo', undefined, 'a-key-of-this-test');
  expect(await status('/v1/models', { authorization: `Bearer ${api_key}` })).toBe(200);
  for (const spelling of ['/metrics', '/%6detrics', '/metrics?all'])
    expect(await status(spelling, { authorization: `Bearer ${api_key}` }), spelling).toBe(403);
});

test('a taken port is reported clearly', async () => {
  const { port } = new URL(on.upstream.url);
  const { code, text } = await on.folder.startInVain(['--port', port, ...on.engine]);
  expect(code).toBe(2);
  expect(text).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
});

test('no key is required until the first key exists; from then on it is required at once', async () => {
  const serving = await on.start();
  await chat(serving.client);
  expect(await statusUnder(serving, 'evil.example')).toBe(403);
  expect(await statusUnder(serving, 'localhost:1234')).toBe(200);
  for (const path of ['/metrics', '/readyz']) {
    expect(await statusUnder(serving, 'evil.example', path), path).toBe(403);
    expect(await statusUnder(serving, 'localhost:1234', path), path).toBe(200);
  }
  expect(await statusUnder(serving, 'evil.example', '/healthz')).toBe(200);
  const ann = await createAccessKey(on.folder.data.keys, 'ann');
  const bob = await createAccessKey(on.folder.data.keys, 'bob');
  for (const client of [serving.client, withKey(serving, 'claw-wrong')]) {
    await expect(chat(client)).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      type: 'authentication_error',
    });
  }
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200);
  expect((await fetch(`${serving.url}/readyz`)).status).toBe(200);
  expect(await statusUnder(serving, 'evil.example', '/readyz')).toBe(401);
  // a reverse proxy on this machine also connects from loopback
  for (const path of [
    '/v1/models',
    '/v1/models/clawloop',
    '/v1/models?x=/healthz',
    '/v1/nowhere',
    '/metrics',
  ])
    expect((await fetch(`${serving.url}${path}`)).status, path).toBe(401);
  const models = await withKey(serving, ann.secret).models.list();
  expect(models.data.map(({ id }) => id)).toEqual(['clawloop', 'clawloop@base']);
  const [hers, his] = [await chat(withKey(serving, ann.secret)), await chat(withKey(serving, bob.secret))];
  const facts = (await on.folder.events('conversations')) as InteractionCompleted[];
  const of = (id: string) => facts.find((event) => event.id === id)!.data;
  expect([of(hers.id).key, of(his.id).key]).toEqual([ann.id, bob.id]);
  expect(of(hers.id).lane).not.toBe(of(his.id).lane);
  expect(JSON.stringify(facts)).not.toContain(ann.secret);
  expect(serving.output()).not.toContain(ann.secret);
  const foreign = await fetch(`${serving.url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bob.secret}` },
    body: JSON.stringify({ completion_id: hers.id, rating: 'down' }),
  });
  expect(foreign.status).toBe(404);
});

test("feedback is recorded only for the key's own answers, also after a restart", async () => {
  const serving = await on.start();
  const ann = await createAccessKey(on.folder.data.keys, 'ann');
  const bob = await createAccessKey(on.folder.data.keys, 'bob');
  const hers = await chat(withKey(serving, ann.secret));
  await serving.stop();
  const again = await on.start();
  const give = async (secret: string, completion_id: string) =>
    (
      await fetch(`${again.url}/v1/feedback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
        body: JSON.stringify({ completion_id, rating: 'up' }),
      })
    ).status;
  const madeUp = hers.id.replace(/.{12}$/, 'ffffffffffff');
  const elsewhere = hers.id.replace(/-[0-9a-f]{12}-/, '-0123456789ab-');
  for (const id of [hers.id, madeUp, elsewhere]) expect(await give(bob.secret, id), id).toBe(404);
  for (const id of [madeUp, elsewhere]) expect(await give(ann.secret, id), id).toBe(404);
  expect(await give(ann.secret, hers.id)).toBe(200);
  const given = (await on.folder.events('conversations')).filter(({ type }) => type === 'feedback.given');
  expect(given.map(({ data }) => data)).toMatchObject([{ interactionId: hers.id, key: ann.id }]);
});

test('a temporary failure is one line in the log, without a stack trace', async () => {
  const serving = await on.start();
  await writeFile(on.folder.data.keys, '{"keys": 5}');
  expect((await fetch(`${serving.url}/v1/models?x=1`)).status).toBe(503);
  await rm(on.folder.data.keys);
  const said = () =>
    serving
      .output()
      .split('\n')
      .filter((line) => line.includes('/v1/models?x=1'));
  await until('the line is logged', () => said().length > 0);
  expect(said().map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 40,
      code: 'keys_unreadable',
      reason: expect.stringContaining('not a list of access keys'),
    },
  ]);
  expect(said()[0]).not.toContain('stack');
});

test('a configured key lets the server listen beyond loopback; its number of requests is limited', async () => {
  const more = ['--host', '0.0.0.0', '--api-key', 'a-configured-key', '--max-concurrent-per-key', '2'];
  const serving = await on.start(...more);
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${new URL(serving.url).port}/v1`,
    apiKey: 'a-configured-key',
    maxRetries: 0,
  });
  expect(serving.output()).not.toContain('a-configured-key');
  const gate = Promise.withResolvers<void>();
  on.upstream.script(async (call, response) => {
    await gate.promise;
    saysHi(call, response);
  });
  const open = [chat(client), chat(client)];
  await until('both are open', () => on.upstream.calls.length === 2);
  const third = await chat(client).then(
    () => undefined,
    (error: InstanceType<typeof OpenAI.APIError>) => error,
  );
  expect(third).toMatchObject({ status: 429, code: 'too_many_requests' });
  expect(third!.headers!.get('retry-after')).toBe('1');
  gate.resolve();
  await Promise.all(open);
  await chat(client);
});
