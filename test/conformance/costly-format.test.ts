import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { until } from '../e2e/harness/clawloop.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// A schema that is too costly fails only when an answer reaches the costly part, which may be in the middle of a
// stream.

const on = servingForSuite(['--model', 'claw-nano']);
const schema = {
  type: 'object',
  properties: { text: { type: 'string', pattern: '^x{40}(a?){9000}$' } },
  required: ['text'],
  additionalProperties: false,
};
const messages = [{ role: 'user' as const, content: 'Where do I go?' }];
const logged = (): readonly { readonly level: number; readonly id?: string; readonly err?: unknown }[] =>
  on.serving
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

const readAll = async (stream: AsyncIterable<unknown>): Promise<readonly unknown[]> => {
  const seen: unknown[] = [];
  for await (const one of stream) seen.push(one);
  return seen;
};

test("the client gets the error in its API's format, and the log gets a line without a stack", async () => {
  const { client, url } = on.serving;
  const chat = await client.chat.completions.create({
    model: 'clawloop',
    messages,
    max_tokens: 200,
    stream: true,
    response_format: { type: 'json_schema', json_schema: { name: 'costly', schema } },
  });
  const ids: string[] = [];
  const streamed = (async () => {
    for await (const { id } of chat) ids.push(id);
  })();
  await expect(streamed).rejects.toBeInstanceOf(OpenAI.APIError);
  await expect(streamed).rejects.toMatchObject({ code: 'invalid_request', type: 'invalid_request_error' });
  expect(ids.length).toBeGreaterThan(1);
  const line = await until('the line is logged', async () => logged().find(({ id }) => id === ids[0]));
  expect(line).toMatchObject({ code: 'invalid_request', request: expect.stringMatching(/^req_/) });
  expect(line).not.toHaveProperty('err');

  const response = await client.responses.create({
    model: 'clawloop',
    input: 'Where do I go?',
    max_output_tokens: 200,
    stream: true,
    text: { format: { type: 'json_schema', name: 'costly', schema } },
  });
  const events = await readAll(response);
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'invalid_prompt' } },
  });

  const anthropic = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 });
  const message = await anthropic.messages.create({
    model: 'clawloop',
    messages,
    max_tokens: 200,
    stream: true,
    output_config: { format: { type: 'json_schema', schema } },
  });
  await expect(readAll(message)).rejects.toMatchObject({
    error: { error: { type: 'invalid_request_error' } },
  });
  expect(logged().filter((one) => one.level >= 50 || one.err !== undefined)).toEqual([]);
});

test('whole answers are refused with 400', async () => {
  const refused = on.serving.client.chat.completions.create({
    model: 'clawloop',
    messages,
    max_tokens: 200,
    response_format: { type: 'json_schema', json_schema: { name: 'costly', schema } },
  });
  await expect(refused).rejects.toMatchObject({ status: 400, code: 'invalid_request' });
});
