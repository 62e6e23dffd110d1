import { expect, test } from 'vitest';
import { errorFrame, hasLostModel, refusalError } from './refusal.ts';

const refused = (status: number, text: string, retryAfterSeconds?: number) => ({
  status,
  text,
  retryAfterSeconds,
});
const openai = (message: string) => JSON.stringify({ error: { message, code: 400 } });

test.each([
  [
    "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
    4096,
    5000,
  ],
  [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages)",
    4096,
    5000,
  ],
  ["The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000],
  [
    'Input length (4095 tokens) exceeds the maximum allowed length (4090 tokens). Use a shorter input or enable --allow-auto-truncate.',
    4090,
    4095,
  ],
  [
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens",
    4096,
    5000,
  ],
])('a prompt that is too long has the code that agents know: %s', (message, limit, tokens) => {
  const error = refusalError(refused(400, openai(message)));
  expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' });
  expect(error.message).toMatch(new RegExp(`${limit} tokens.*${tokens} tokens`));
});

test('a limit and an outage keep their Retry-After, or get a default', () => {
  expect(refusalError(refused(429, '{}', 7))).toMatchObject({ status: 429, retryAfterSeconds: 7 });
  expect(refusalError(refused(429, '{}')).retryAfterSeconds).toBe(5);
  expect(refusalError(refused(503, '{}', 20))).toMatchObject({ status: 503, retryAfterSeconds: 20 });
});

test.each([401, 403, 404, 500, 302])('%i is an upstream failure with the message of the server', (status) => {
  const error = refusalError(refused(status, openai('for a reason')));
  expect(error).toMatchObject({ status: 502, code: 'upstream_failed' });
  expect(error.message).toContain('for a reason');
});

test('an unknown model name is distinguished from other refusals', () => {
  const name = 'clawloop-default-v3-0123abcd';
  expect(hasLostModel(refused(404, openai(`The model \`${name}\` does not exist.`)), name)).toBe(true);
  const sglang = openai(`The following requested LoRA adapters are not loaded: ${name}`);
  expect(hasLostModel(refused(400, sglang), name)).toBe(true);
  const never = `Got LoRA adapter that has never been loaded: ${name}\nAll loaded adapters: dict_keys([]).`;
  expect(hasLostModel(refused(400, openai(never)), name)).toBe(true);
  const gone = `Failed to implicitly load LoRA adapter ${name}: no such folder`;
  expect(hasLostModel(refused(400, openai(gone)), name)).toBe(true);
  expect(hasLostModel(refused(404, openai('The model `other` does not exist.')), name)).toBe(false);
  expect(hasLostModel(refused(400, openai(`${name}: top_p must be positive`)), name)).toBe(false);
});

test('an error sent as an event has the status that it names', () => {
  expect(errorFrame('{"error": {"message": "no", "code": 404}}', 500)).toMatchObject({ status: 404 });
  expect(errorFrame('{"error": {"message": "no"}}', 400)).toMatchObject({ status: 400 });
  expect(errorFrame('{"error":null,"choices":[]}', 400)).toBeUndefined();
  expect(errorFrame('{"choices":[]}', 400)).toBeUndefined();
  expect(errorFrame('{ "error" : {"message": "no", "code": "429"}}', 500)).toMatchObject({ status: 429 });
  expect(errorFrame('{"id":"x","error":"overloaded"}', 500)).toMatchObject({ status: 500 });
  expect(errorFrame('{"choices":[{"delta":{"content":"\\"error\\""}}]}', 400)).toBeUndefined();
  for (const none of ['[DONE]', '"error"', 'null "error"', '{"error"'])
    expect(errorFrame(none, 400)).toBeUndefined();
});
