import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { saysHi, servingOnScript } from './serving-on-script.ts';
import { servingForSuite } from './serving-process.ts';

const page = 'https://page.example';
const key = 'a-key-of-sixteen-letters';
const chat = '/v1/chat/completions';
const asks = (origin: string) => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  },
});
const allowed = (response: Response) => response.headers.get('access-control-allow-origin');

describe('with an allowed origin', () => {
  const on = servingOnScript(['--cors-origins', `${page},app://notes`, '--api-key', key], saysHi);
  const client = (origin: string) =>
    new OpenAI({
      baseURL: `${on.serving.url}/v1`,
      apiKey: key,
      maxRetries: 0,
      defaultHeaders: { origin },
    });

  test('its preflight needs no key, and the page can read whole answers and streams', async () => {
    const before = await fetch(`${on.serving.url}${chat}`, asks(page));
    expect([before.status, allowed(before)]).toEqual([204, page]);
    expect(before.headers.get('access-control-allow-methods')).toContain('POST');
    expect(before.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] } as const;
    const create = client('app://notes').chat.completions;
    const whole = await create.create({ ...request, messages: [...request.messages] }).asResponse();
    expect([whole.status, allowed(whole)]).toEqual([200, 'app://notes']);
    const streamed = await create
      .create({ ...request, messages: [...request.messages], stream: true })
      .asResponse();
    expect([streamed.status, allowed(streamed)]).toEqual([200, 'app://notes']);
    expect(await streamed.text()).toContain('[DONE]');
  });

  test('it can also read refusals, in the shape of the API', async () => {
    for (const [path, status] of [
      [chat, 401],
      ['/v1/embeddings', 401],
    ] as const) {
      const refused = await fetch(`${on.serving.url}${path}`, { method: 'POST', headers: { origin: page } });
      expect([refused.status, allowed(refused)]).toEqual([status, page]);
      expect(await refused.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    }
  });

  test('another origin is not allowed, and no origin can read the metrics', async () => {
    const other = await fetch(`${on.serving.url}${chat}`, asks('https://other.example'));
    expect(allowed(other)).toBeNull();
    const headers = { authorization: `Bearer ${key}` };
    for (const path of ['/metrics', '/readyz', '/healthz']) {
      const { headers: said } = await fetch(`${on.serving.url}${path}`, {
        headers: { ...headers, origin: page },
      });
      expect(said.get('access-control-allow-origin'), path).toBeNull();
      const before = await fetch(`${on.serving.url}${path}`, {
        method: 'OPTIONS',
        headers: { ...asks(page).headers, ...headers },
      });
      expect([before.status, allowed(before)], path).toEqual([405, null]);
      expect(await before.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    }
  });
});

describe('without allowed origins', () => {
  const on = servingForSuite();

  test('a page cannot read answers, and a preflight gets 405', async () => {
    const before = await fetch(`${on.serving.url}${chat}`, asks(page));
    expect([before.status, allowed(before)]).toEqual([405, null]);
    const models = await fetch(`${on.serving.url}/v1/models`, { headers: { origin: page } });
    expect([models.status, allowed(models)]).toEqual([200, null]);
  });

  test('an invalid origin ends the start', async () => {
    const { code, text } = await on.folder.startInVain(['--cors-origins', 'https://page.example/path']);
    expect(code).not.toBe(0);
    expect(text).toContain('cors');
  });
});
