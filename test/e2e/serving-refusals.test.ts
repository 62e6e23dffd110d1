import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { servingForSuite } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;

describe('refusals, as the official client sees them', () => {
  const on = servingForSuite(['--max-body-bytes', '5000000']);

  test('a refusal names the field, and no event is recorded', async () => {
    const before = (await on.folder.events('conversations')).length;
    const refused: readonly (readonly [object, string])[] = [
      [{ best_of: 2 }, 'best_of'],
      [{ response_format: { type: 'xml' } }, 'response_format'],
      [{ temperature: 3 }, 'temperature'],
      [{ tool_choice: 'required' }, 'tool_choice'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
      [
        { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
        'messages[0].content[0]',
      ],
    ];
    for (const [change, param] of refused) {
      const body = { model: 'clawloop', messages: [user('hi')], ...change };
      const call = on.serving.client.chat.completions.create(
        body as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming,
      );
      await expect(call, JSON.stringify(change)).rejects.toMatchObject({ status: 400, param });
    }
    expect((await on.folder.events('conversations')).length).toBe(before);
  });

  test('HTTP errors have the shape of OpenAI', async () => {
    const send = async (path: string, init: RequestInit) => {
      const response = await fetch(`${on.serving.url}${path}`, init);
      const { error } = (await response.json()) as { error: { code: string } };
      return `${response.status} ${error.code}`;
    };
    const json = { 'content-type': 'application/json' };
    const chat = (init: RequestInit) => send('/v1/chat/completions', { method: 'POST', ...init });
    expect(await chat({ headers: json, body: '{"model":' })).toBe('400 invalid_json');
    expect(await chat({ headers: json, body: '' })).toBe('400 invalid_json');
    expect(await chat({ headers: json, body: '[]' })).toBe('400 invalid_request');
    expect(await chat({ headers: { 'content-type': 'text/plain' }, body: '{}' })).toBe(
      '415 unsupported_media_type',
    );
    expect(await chat({ headers: json, body: `"${'x'.repeat(20_000_000)}"` })).toBe('413 body_too_large');
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PUT'])
      for (const init of [{ method }, { method, headers: json }])
        expect(await send('/v1/chat/completions', init), method).toBe('405 method_not_allowed');
    const refused = await fetch(`${on.serving.url}/v1/chat/completions?x=1`, {
      method: 'DELETE',
      headers: json,
    });
    expect(refused.headers.get('allow')).toBe('POST');
    const model = await fetch(`${on.serving.url}/v1/models/@base`, { method: 'POST', headers: json });
    expect([model.status, model.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const response = await fetch(`${on.serving.url}/v1/responses/resp_1`, { method: 'PUT', headers: json });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE']);
    for (const init of [{ method: 'DELETE' }, { method: 'DELETE', headers: json }])
      expect(await send('/v1/responses/resp_1', init)).toBe('404 response_not_found');
    const ask = (fields: object) =>
      chat({
        headers: json,
        body: JSON.stringify({ model: 'clawloop', messages: [user('hello')], ...fields }),
      });
    expect(await ask({ model: 'clawloop@base@v1' })).toBe('404 model_not_found');
    expect(await ask({ logit_bias: { 999999: 1 } })).toBe('400 invalid_request');
    expect(await send('/v1/embeddings', { method: 'POST' })).toBe('404 route_not_found');
  });
});
