import { readFile } from 'node:fs/promises';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { clawloop } from './harness/clawloop.ts';
import { servingOnScript } from './serving-on-script.ts';

const on = servingOnScript();

const keys = (...argv: readonly string[]) =>
  clawloop(['keys', ...argv, '--data-folder', on.folder.data.root]);

async function create(
  ...argv: readonly string[]
): Promise<{ readonly secret: string; readonly id: string; readonly closes: boolean }> {
  const { code, stdout, stderr } = await keys('create', ...argv);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const id = /under the id (key-\w+)/.exec(stdout)![1]!;
  return { secret: stdout.split('\n')[0]!, id, closes: stdout.includes('refuses requests without a key') };
}

/** Undefined: it was answered. */
const refusalOf = (apiKey: string, stream = false) =>
  new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey, maxRetries: 0 }).chat.completions
    .create({ model: 'clawloop', messages: [{ role: 'user', content: 'hi' }], stream })
    .then(
      async (answer) => {
        if ('controller' in answer) for await (const _ of answer);
        return undefined;
      },
      (error: InstanceType<typeof OpenAI.APIError>) => error,
    );

test('a key over its limit of requests gets Retry-After; other keys continue', async () => {
  const [ann, bob] = [await create('ann', '--requests-per-minute', '2'), await create('bob')];
  expect([ann.closes, bob.closes]).toEqual([true, false]);
  expect(await refusalOf(ann.secret)).toBeUndefined();
  expect(await refusalOf(ann.secret, true)).toBeUndefined();
  const refused = await refusalOf(ann.secret);
  expect(refused).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    message: expect.stringContaining('2 requests per minute'),
  });
  const seconds = Number(refused!.headers!.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(30);
  const asked = on.upstream.calls.length;
  await refusalOf(ann.secret);
  expect(on.upstream.calls).toHaveLength(asked);
  expect(await refusalOf(bob.secret)).toBeUndefined();
  const models = await fetch(`${on.serving.url}/v1/models`, {
    headers: { authorization: `Bearer ${ann.secret}` },
  });
  expect(models.status).toBe(200);
});

test.each([
  ['/v1/messages', { max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }, 'rate_limit_error'],
  ['/v1/responses', { input: 'hi' }, 'rate_limit_error'],
])('%s: the same limit, in the shape of that API', async (path, body, type) => {
  const { secret } = await create('ann', '--requests-per-minute', '1');
  const ask = () =>
    fetch(`${on.serving.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'clawloop', ...body }),
    });
  expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
  const message = 'This key is limited to 1 requests per minute';
  expect(await refused.json()).toMatchObject({ error: { type, message: expect.stringContaining(message) } });
});

test('tokens of prompt and answer count after the answer, streamed or not', async () => {
  const ann = await create('ann', '--tokens-per-day', '100');
  expect(await refusalOf(ann.secret)).toBeUndefined();
  expect(await refusalOf(ann.secret, true)).toBeUndefined();
  const refused = await refusalOf(ann.secret);
  expect(refused).toMatchObject({ status: 429, message: expect.stringContaining('100 tokens per day') });
  expect(Number(refused!.headers!.get('retry-after'))).toBeGreaterThan(800);
});

test('other requests of a key also have a limit, which affects no other key', async () => {
  const [ann, bob] = [await create('ann', '--requests-per-minute', '2'), await create('bob')];
  const ask = async (path: string, apiKey: string, body?: object) => {
    const response = await fetch(`${on.serving.url}${path}`, {
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return [response.status, response.headers.get('retry-after')] as const;
  };
  const messages = [{ role: 'user', content: 'hi' }];
  const requests: readonly (readonly [path: string, body?: object])[] = [
    ['/v1/messages/count_tokens', { model: 'clawloop', messages }],
    ['/v1/feedback', { completion_id: 'x', rating: 'up' }],
    ['/v1/sessions/end', { session: 'made-up' }],
    ['/rl/start_session', { task_id: 'demo' }],
    ['/rl/end_session', { session_id: 'none' }],
    ['/rl/sessions'],
    ['/v1/responses/resp_none'],
    ['/v1/models'],
  ];
  const first = await Promise.all(requests.map(([path, body]) => ask(path, ann.secret, body)));
  expect(first.map(([status]) => status)).toEqual([404, 400, 404, 200, 404, 200, 404, 200]);
  for (const [path, body] of requests) {
    const [status, retryAfter] = await ask(path, ann.secret, body);
    expect([path, status]).toEqual([path, 429]);
    expect(Number(retryAfter)).toBeGreaterThan(0);
    expect((await ask(path, bob.secret, body))[0], path).not.toBe(429);
  }
  expect(await refusalOf(ann.secret)).toBeUndefined();
});

test('requests for answers that are refused have a limit too, before they are read', async () => {
  const ann = await create('ann', '--requests-per-minute', '1');
  const ask = async (body: string) =>
    (
      await fetch(`${on.serving.url}/v1/chat/completions`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ann.secret}` },
      })
    ).status;
  const refused = [];
  for (const body of ['{', '{"model":5}', '{}', '[]', '{', '{']) refused.push(await ask(body));
  expect(refused).toEqual([400, 400, 400, 400, 429, 429]);
});

test('a key for one adapter cannot use another', async () => {
  const other = await create('ann', '--only-adapter', 'work');
  expect(await refusalOf(other.secret)).toMatchObject({ status: 403, code: 'key_of_another_adapter' });
  const own = await create('ann', '--only-adapter', 'default');
  expect(await refusalOf(own.secret)).toBeUndefined();
});

test('keys are listed without their secrets, and a removed key is refused', async () => {
  const gone = await create('gone', '--tokens-per-minute', '1000');
  expect(await refusalOf(gone.secret)).toBeUndefined();
  const listed = await keys('list');
  expect(listed.stdout).toMatch(new RegExp(`${gone.id} +gone +any +1000 tokens per minute`));
  for (const text of [listed.stdout, await readFile(on.folder.data.keys, 'utf8'), on.serving.output()])
    expect(text).not.toContain(gone.secret);
  expect((await keys('remove', gone.id)).code).toBe(0);
  expect(await refusalOf(gone.secret)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect((await keys('remove', gone.id)).stderr).toContain(`no key has the id ${gone.id}`);
});

test('an invalid limit is refused before a key is created', async () => {
  const before = await readFile(on.folder.data.keys, 'utf8');
  for (const limit of ['0', '-1', 'many'])
    expect((await keys('create', 'ann', `--requests-per-minute=${limit}`)).code).toBe(2);
  expect(await readFile(on.folder.data.keys, 'utf8')).toBe(before);
});
