import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseChatRequest } from './chat-request.ts';
import { requestFields } from './request-fields.ts';

const sound = { model: 'clawloop', messages: [{ role: 'user', content: 'hi' }] };
const parse = (more: object) => parseChatRequest({ ...sound, ...more });
const paramOf = (more: object): string | null | undefined => {
  try {
    parse(more);
    return undefined;
  } catch (error) {
    return (error as { param: string | null }).param;
  }
};

test('what the official client and OpenClaw decorate requests with is tolerated', () => {
  const { generation } = parse({
    store: false,
    metadata: { a: 'b' },
    user: 'ann',
    parallel_tool_calls: true,
    prompt_cache_key: 'k',
    reasoning_effort: 'low',
    something_new: 1,
    n: 1,
    frequency_penalty: 0,
    response_format: { type: 'text' },
    enable_thinking: false,
    chat_template_kwargs: { style: 'short' },
    tool_choice: 'auto',
    tools: null,
    messages: [
      {
        role: 'developer',
        content: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call7', type: 'function', function: { name: 'a', arguments: '{}' } }],
      },
      { role: 'tool', content: 'done', tool_call_id: 'call7', name: null },
    ],
  });
  expect(generation.templateVariables).toEqual({ style: 'short', enable_thinking: false });
  expect(generation.messages[0]).toMatchObject({ role: 'developer', content: [{ text: 'Be kind.' }] });
  expect(generation.messages[2]).not.toHaveProperty('name');
});

test('what would change the answer and cannot be done is refused by its name', () => {
  expect(paramOf({ best_of: 3 })).toBe('best_of');
  expect(paramOf({ n: 0 })).toBe('n');
  expect(paramOf({ response_format: { type: 'json_schema' } })).toBe('response_format');
  expect(paramOf({ functions: [{ name: 'x' }] })).toBe('functions');
  expect(paramOf({ repetition_penalty: 5e-324 })).toBe('repetition_penalty'); // logits over it overflow
  expect(paramOf({ min_p: 1.1 })).toBe('min_p');
  expect(paramOf({ stop_token_ids: [-1] })).toBe('stop_token_ids[0]');
  expect(paramOf({ tool_choice: { type: 'function' } })).toBe('tool_choice');
  expect(paramOf({ top_logprobs: 3 })).toBe('top_logprobs');
  expect(paramOf({ modalities: ['text', 'audio'] })).toBe('modalities');
  expect(paramOf({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] })).toBe(
    'messages[0].content[0]',
  );
  expect(paramOf({ stop: [''] })).toBe('stop[0]');
});

test('sampling settings keep what was left out apart from what was asked for', () => {
  expect(parse({}).generation.sampling).toEqual({
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    logitBias: [],
  });
  expect(
    parse({ max_tokens: 5, max_completion_tokens: 7, top_k: -1, stop: 'x' }).generation.sampling,
  ).toMatchObject({
    maxTokens: 7,
    topK: 0,
    stop: ['x'],
  });
});

test('tools are recorded, and hidden from the policy where the client forbids to call them', () => {
  const tools = [{ type: 'function', function: { name: 'exec' } }];
  const request = parse({ tools, tool_choice: 'none' });
  expect(request.tools).toEqual(tools);
  expect(request.generation.tools).toEqual([]);
});

test('a body that nests too deeply is refused before anything walks it', () => {
  const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  expect(() => parse({ metadata: deep })).toThrow(/nests/);
});

test('the page for users names every field', () => {
  const page = readFileSync(new URL('../../../docs/serving.md', import.meta.url), 'utf8');
  for (const name of Object.keys(requestFields)) expect(page).toContain(`\`${name}\``);
});
