import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonOnce } from '../../../../shared/chat/json-text.ts';
import { rollingHashes } from '../../../../shared/chat/rolling-hash.ts';
import { parseJsonBody } from '../../http/json-body.ts';
import type { FieldRule } from './field-rule.ts';
import { createOmissions, lenient, type Tolerance } from './omissions.ts';
import { parseChatRequest } from './parse-chat-request.ts';
import { partFields, requestFields } from './request-fields.ts';

const sound = { model: 'clawloop', messages: [{ role: 'user', content: 'hi' }] };
const parse = (more: object, tolerance?: Partial<Tolerance>) =>
  parseChatRequest({ ...sound, ...more }, { omissions: createOmissions({ ...lenient, ...tolerance }) });
const paramOf = (more: object, tolerance?: Partial<Tolerance>): string | null | undefined => {
  try {
    parse(more, tolerance);
    return undefined;
  } catch (error) {
    return (error as { param: string | null }).param;
  }
};

test('decorations of the official client and OpenClaw are tolerated', () => {
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

test('unsupported fields that would change the answer are refused by name', () => {
  expect(paramOf({ best_of: 3 })).toBe('best_of');
  expect(paramOf({ n: 0 })).toBe('n');
  expect(paramOf({ response_format: { type: 'structural_tag' } })).toBe('response_format');
  expect(paramOf({ repetition_penalty: 5e-324 })).toBe('repetition_penalty'); // logits over it overflow
  expect(paramOf({ min_p: 1.1 })).toBe('min_p');
  expect(paramOf({ stop_token_ids: [-1] })).toBe('stop_token_ids[0]');
  expect(paramOf({ tool_choice: { type: 'function' } })).toBe('tool_choice');
  expect(paramOf({ top_logprobs: 3 })).toBe('top_logprobs');
  expect(paramOf({ modalities: ['text', 'audio'] })).toBe('modalities');
  expect(paramOf({ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] })).toBe(
    'messages[0].content[0]',
  );
  expect(paramOf({ stop: [''] })).toBe('stop[0]');
});

test('unknown fields and server tools are left out and named, or refused', () => {
  const own = { type: 'function', function: { name: 'get' } };
  const request = { client_metadata: { a: 1 }, web_search_options: {}, tools: [own, { type: 'web_search' }] };
  const { ignored, generation, tools } = parse(request);
  expect(ignored.map(({ name }) => name)).toEqual([
    'client_metadata',
    'web_search_options',
    'tools[1]: web_search',
  ]);
  expect([generation.tools, tools]).toEqual([[own], [own]]);
  expect(parse({ web_search_options: null, n: 1 }).ignored).toEqual([]);
  expect(paramOf({ client_metadata: null }, { strictFields: true })).toBe('client_metadata');
  expect(paramOf({ tools: [own, { type: 'web_search' }] }, { strictFields: true })).toBe('tools[1].type');
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x${at}${'y'.repeat(300)}`, 1]));
  expect(parse(many).ignored).toHaveLength(64);
  expect(parse(many).ignored[0]!.name).toHaveLength(200);
});

test('an image becomes the same text in each request, or is refused', () => {
  const content = [
    { type: 'input_text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ];
  const body = { messages: [{ role: 'user', content }] };
  const { generation, ignored } = parse(body);
  expect(generation.messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is this?' },
        { type: 'text', text: '[image]' },
      ],
    },
  ]);
  expect(ignored).toEqual([{ kind: 'image', name: 'messages[0].content[1]: image_url' }]);
  const later = parse({ messages: [...body.messages, { role: 'assistant', content: 'a pan' }] });
  expect(rollingHashes(later.generation.messages)[0]).toBe(rollingHashes(generation.messages)[0]);
  expect(paramOf(body, { images: 'refuse' })).toBe('messages[0].content[1]');
});

test('a file becomes the same text in each request, or is refused', () => {
  const body = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'x' } }] }] };
  const { generation, ignored } = parse(body);
  expect(generation.messages[0]!.content).toEqual([{ type: 'text', text: '[document]' }]);
  expect(ignored).toEqual([{ kind: 'image', name: 'messages[0].content[0]: file' }]);
  expect(paramOf(body, { images: 'refuse' })).toBe('messages[0].content[0]');
});

test('variants that programs send have the standard meaning', () => {
  for (const limit of ['max_tokens', 'max_completion_tokens']) {
    for (const none of [-1, null])
      expect(parse({ [limit]: none }).generation.sampling).not.toHaveProperty('maxTokens');
    expect(paramOf({ [limit]: 0 })).toBe(limit);
    expect(paramOf({ [limit]: -2 })).toBe(limit);
  }
  const greedy = parse({ top_p: 0, temperature: 0.7 }).generation.sampling;
  expect(greedy).toMatchObject({ temperature: 0 });
  expect(greedy).not.toHaveProperty('topP');
  expect(parse({ user: 42 }).user).toBe('42');
  const given = { id: 'c', type: 'function', function: { name: 'a', arguments: { x: [1] } } };
  const { messages } = parse({
    messages: [...sound.messages, { role: 'assistant', tool_calls: [given] }],
  }).generation;
  expect(messages[1]!.tool_calls).toEqual([{ ...given, function: { name: 'a', arguments: '{"x":[1]}' } }]);
  expect(jsonOnce(messages)).toContain('"{\\"x\\":[1]}"');
  for (const silent of [{}, { content: null }, { content: '' }])
    for (const role of ['system', 'developer'])
      expect(parse({ messages: [{ role, ...silent }, ...sound.messages] }).generation.messages[0]).toEqual({
        role,
        content: '',
      });
  expect(paramOf({ messages: [{ role: 'user' }] })).toBe('messages[0].content');
});

test('functions and function calls of the old form become tools', () => {
  const functions = [{ name: 'get', parameters: { type: 'object' } }, { name: 'set' }];
  const messages = [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: null, function_call: { name: 'get', arguments: '{}' } },
    { role: 'function', name: 'get', content: 'found' },
  ];
  const { generation, oldCalls, tools } = parse({ messages, functions, function_call: { name: 'set' } });
  expect(generation.messages.slice(1)).toEqual([
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', name: 'get', content: 'found' },
  ]);
  const asTools = functions.map((one) => ({ type: 'function', function: one }));
  expect([generation.tools, tools]).toEqual([asTools, asTools]);
  expect(generation).toMatchObject({ forcedCall: ['set'], singleCall: true });
  expect(oldCalls).toBe(true);
  expect(parse({ functions, function_call: 'none' }).generation.tools).toEqual([]);
  expect(parse({ functions: [] })).not.toHaveProperty('oldCalls');
  expect(paramOf({ functions, tools: asTools })).toBe('functions');
  expect(paramOf({ function_call: { name: 'x' } })).toBe('function_call');
  expect(paramOf({ functions, function_call: { name: 'x' } })).toBe('tool_choice');
});

test('omitted sampling settings stay omitted', () => {
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

test('the reasoning effort none switches reasoning off, unless the request sets enable_thinking', () => {
  const variables = (more: object) => parse(more).generation.templateVariables;
  const none = { reasoning_effort: 'none' };
  expect(variables(none)).toEqual({ enable_thinking: false });
  for (const other of ['minimal', 'high', 1, null, undefined])
    expect(variables({ reasoning_effort: other })).toEqual({});
  const explicit = { enable_thinking: true };
  expect(variables({ ...none, ...explicit })).toEqual(explicit);
  expect(variables({ ...none, chat_template_kwargs: explicit })).toEqual(explicit);
});

test('the engine receives forced calls and required formats', () => {
  const tools = ['get', 'set'].map((name) => ({ type: 'function', function: { name } }));
  const { generation } = parse({ tools, tool_choice: 'required', parallel_tool_calls: false });
  expect(generation).toMatchObject({ tools, forcedCall: ['get', 'set'], singleCall: true });
  expect(parse({ tools, parallel_tool_calls: true }).generation).not.toHaveProperty('singleCall');
  expect(paramOf({ tool_choice: 'required' })).toBe('tool_choice');
  expect(paramOf({ tools, tool_choice: { type: 'custom', custom: { name: 'get' } } })).toBe('tool_choice');
});

test('the table contains every field of the official client', () => {
  const path = '../../../../node_modules/openai/resources/chat/completions/completions.d.ts';
  const types = readFileSync(new URL(path, import.meta.url), 'utf8');
  const [, body] = /export interface ChatCompletionCreateParamsBase \{\n(.*?)\n\}/s.exec(types)!;
  const fields = [...body!.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name!);
  expect(fields.length).toBeGreaterThan(30);
  expect(fields.filter((name) => !Object.hasOwn(requestFields, name))).toEqual([]);
});

test('tools are recorded, but hidden from the policy with tool_choice none', () => {
  const tools = [{ type: 'function', function: { name: 'exec' } }];
  const request = parse({ tools, tool_choice: 'none' });
  expect(request.tools).toEqual(tools);
  expect(request.generation.tools).toEqual([]);
});

const rules = Object.entries(requestFields as Readonly<Record<string, FieldRule>>);

test('the table matches the behaviour: refused fields are refused, hints change nothing', () => {
  for (const [name, { does }] of rules) {
    if (does === 'refused') expect(paramOf({ [name]: { asks: 'for something' } }), name).toBe(name);
    if (does === 'hint') expect(parse({ [name]: 'whatever' }), name).toEqual(parse({}));
    if (does === 'ignored') {
      expect(parse({ [name]: {} }), name).toEqual({
        ...parse({}),
        ignored: [{ kind: 'field', name }],
      });
      expect(paramOf({ [name]: {} }, { strictFields: true }), name).toBe(name);
    }
    if (does === 'honoured') expect(paramOf({ [name]: Symbol('of no sense') }), name).toMatch(name);
  }
});

test('the table matches the behaviour for parts of fields', () => {
  const message = (more: object) => ({ messages: [{ role: 'user', content: 'hi', ...more }] });
  const tool = (more: object) => ({ tools: [{ type: 'function', function: { name: 'a' }, ...more }] });
  const examples: Readonly<Record<string, object>> = {
    'messages[].content[].type': message({ content: [{ type: 'input_audio' }] }),
    'messages[].audio': message({ audio: { id: 'x' } }),
    'messages[].function_call': message({ function_call: { name: 'a', arguments: '{}' } }),
    'messages[].name': message({ name: 'ann' }),
    'tools[].type': tool({ type: 'custom' }),
    'tools[].function.strict': tool({ function: { name: 'a', strict: true } }),
    'stream_options.include_obfuscation': { stream: true, stream_options: { include_obfuscation: true } },
  };
  expect(Object.keys(examples)).toEqual(Object.keys(partFields));
  for (const [name, { does }] of Object.entries(partFields)) {
    const param = paramOf(examples[name]!);
    if (does === 'refused') expect(param, name).toMatch(/^(messages|tools)\[0\]/);
    else expect(param, name).toBeUndefined();
  }
});

test('unchanged messages are forwarded and recorded as received', () => {
  const received = (messages: string) =>
    parseChatRequest(parseJsonBody(Buffer.from(`{"model":"m","messages":${messages},"tools":null}`)))
      .generation.messages;
  const asIs = '[ {"role": "user", "content": "h\\u0069"} ]';
  expect(jsonOnce(received(asIs))).toBe(asIs);
  const changed = received('[{"role":"user","content":"hi","name":null}]');
  expect(jsonOnce(changed)).toBe('[{"role":"user","content":"hi"}]');
});

test('members of a tool keep their order in prompt, request and record', () => {
  const tools =
    '[{"function":{"description":"d","name":"f","parameters":{"type":"object"},"strict":true},"type":"function"}]';
  const body = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":${tools}}`;
  const { generation, tools: recorded } = parseChatRequest(parseJsonBody(Buffer.from(body)));
  expect(JSON.stringify(generation.tools)).toBe(tools);
  expect(jsonOnce(generation.tools)).toBe(tools);
  expect(jsonOnce(recorded!)).toBe(tools);
});
