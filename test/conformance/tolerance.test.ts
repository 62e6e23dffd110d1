import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// Fields of agent programs that this server does not know, sent by the official clients.

const user = (content: string) => ({ role: 'user', content }) as const;
const parameters = { type: 'object', properties: { city: { enum: ['Zurich'] } }, required: ['city'] };
const zurich = /^\{\s*"city":\s*"Zurich"\s*\}$/;
const claude = { model: 'claude-anything', max_tokens: 4, messages: [user('hi')] };
const pixel = 'data:image/png;base64,AAAA';
type Marked = { readonly clawloop: { readonly ignored?: readonly string[] } };
const ignoredIn = (answer: unknown) => (answer as Marked).clawloop.ignored;

describe('by default', () => {
  const on = servingForSuite(['--model', 'claw-nano']);
  let openai: OpenAI;
  let anthropic: Anthropic;
  beforeAll(() => {
    openai = on.serving.client;
    anthropic = new Anthropic({ baseURL: on.serving.url, apiKey: 'any', maxRetries: 0 });
  });
  /** The requests have more fields than the types of the clients. */
  const chat = (more: object) =>
    openai.chat.completions.create({
      model: 'm',
      max_tokens: 4,
      messages: [user('hi')],
      ...more,
    } as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);
  const response = (more: object) =>
    openai.responses.create({
      model: 'm',
      max_output_tokens: 4,
      input: 'hi',
      ...more,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
  const message = (more: object) =>
    anthropic.messages.create({ ...claude, ...more } as Anthropic.MessageCreateParamsNonStreaming);

  const counted = async (kind: string): Promise<number> => {
    const text = await (await fetch(`${on.serving.url}/metrics`)).text();
    const line = text
      .split('\n')
      .find((one) => one.includes(`_ignored_total{`) && one.includes(`kind="${kind}"`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  test('an unknown field is left out; the answer, its stream and its record name it', async () => {
    const asked = { client_metadata: { turn: 1 }, safeguards: ['x'] };
    const named = ['client_metadata', 'safeguards'];
    for (const ask of [chat, response, message]) {
      const whole = await ask(asked);
      expect(ignoredIn(whole)).toEqual(named);
      expect((await on.folder.interaction(whole.id)).ignored).toEqual(named);
      expect(ignoredIn(await ask({}))).toBeUndefined();
    }
    const chunks: unknown[] = [];
    const stream = await chat({ ...asked, stream: true });
    for await (const chunk of stream as unknown as AsyncIterable<unknown>) chunks.push(chunk);
    expect(ignoredIn(chunks.at(-1))).toEqual(named);
    const events: unknown[] = [];
    const responses = await response({ ...asked, stream: true });
    for await (const event of responses as unknown as AsyncIterable<unknown>) events.push(event);
    expect(ignoredIn((events.at(-1) as { readonly response: unknown }).response)).toEqual(named);
    let lastDelta: unknown;
    const messages = anthropic.messages.stream({ ...claude, ...asked } as Anthropic.MessageStreamParams);
    messages.on('streamEvent', (event) => {
      if (event.type === 'message_delta') lastDelta = event;
    });
    await messages.finalMessage();
    expect(ignoredIn(lastDelta)).toEqual(named);
    expect(await counted('field')).toBe(6);
  });

  test('tools that a server would run are left out, and the other tools work', async () => {
    const own = { type: 'function', name: 'look', parameters, strict: false } as const;
    const tools = [
      own,
      { type: 'web_search', external_web_access: true },
      { type: 'mcp', server_label: 'x' },
    ];
    // The model writes spaces between the parts, as JSON allows: sampled ones could go on up to the limit.
    const likeliest = { temperature: 0 };
    const answer = await response({ tools, tool_choice: 'required', max_output_tokens: 200, ...likeliest });
    expect(answer.output).toMatchObject([
      {
        type: 'function_call',
        name: 'look',
        arguments: expect.stringMatching(zurich),
      },
    ]);
    expect(answer.tools).toMatchObject([{ type: 'function', name: 'look' }]);
    const named = ['tools[1]: web_search', 'tools[2]: mcp'];
    expect(ignoredIn(answer)).toEqual(named);
    expect(ignoredIn(await openai.responses.retrieve(answer.id))).toEqual(named);
    const { content, ...said } = await message({
      tools: [
        { name: 'look', input_schema: parameters },
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'mcp_toolset', mcp_server_name: 'x' },
      ],
      tool_choice: { type: 'any' },
      max_tokens: 200,
      mcp_servers: [{ url: 'http://x' }],
      ...likeliest,
    });
    expect(content).toMatchObject([{ type: 'tool_use', name: 'look', input: { city: 'Zurich' } }]);
    expect(ignoredIn(said)).toEqual(['mcp_servers', 'tools.1: web_search_20250305', 'tools.2: mcp_toolset']);
    const called = await chat({
      tools: [{ type: 'web_search' }, { type: 'function', function: { name: 'look', parameters } }],
      tool_choice: 'required',
      max_tokens: 200,
      ...likeliest,
    });
    expect(called.choices[0]!.message.tool_calls).toHaveLength(1);
    expect(ignoredIn(called)).toEqual(['tools[0]: web_search']);
  });

  test('a choice of a tool that was left out is refused with the reason', async () => {
    const server = { type: 'web_search_20250305', name: 'web_search' };
    const inResponse = { tools: [{ type: 'web_search' }] };
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] };
    for (const ask of [
      () => response({ ...inResponse, tool_choice: { type: 'web_search' } }),
      () => response({ ...inResponse, tool_choice: 'required' }),
      () => response({ ...inResponse, tool_choice: allowed }),
      () => message({ tools: [server], tool_choice: { type: 'tool', name: 'web_search' } }),
      () => message({ tools: [server], tool_choice: { type: 'any' } }),
      () => chat({ ...inResponse, tool_choice: 'required' }),
    ])
      await expect(ask()).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('tool_choice'),
      });
  });

  test('functions in a namespace are called by both names: whole, streamed, replayed and continued', async () => {
    const inner = { type: 'function', name: 'look', description: 'Looks', strict: false, parameters };
    const tools = [{ type: 'namespace', name: 'crm', description: 'Customers', tools: [inner] }];
    const request = {
      tools,
      tool_choice: { type: 'function', name: 'look', namespace: 'crm' },
      max_output_tokens: 60,
      temperature: 0,
    };
    const whole = await response(request);
    const call = { type: 'function_call', namespace: 'crm', name: 'look' };
    expect(whole.output).toMatchObject([call]);
    expect(whole.tools).toMatchObject(tools);
    expect(await openai.responses.retrieve(whole.id)).toMatchObject({ output: whole.output, tools });
    const items: unknown[] = [];
    const stream = await response({ ...request, stream: true });
    for await (const event of stream as unknown as AsyncIterable<{ readonly item?: unknown }>)
      if (event.item !== undefined) items.push(event.item);
    expect(items).toMatchObject([call, call]);
    const fact = await on.folder.interaction(whole.id);
    expect(fact.answer.tool_calls).toMatchObject([{ function: { name: 'crm__look' } }]);
    const [made] = whole.output as OpenAI.Responses.ResponseFunctionToolCall[];
    const result = { type: 'function_call_output', call_id: made!.call_id, output: 'found' };
    const next = await response({ tools, input: [user('hi'), made, result] });
    const { messages } = await on.folder.interaction(next.id);
    expect(rollingHashes(messages)).toContain(rollingHashes([...fact.messages, fact.answer]).at(-1));
  });

  test('a system message without text is no error', async () => {
    for (const silent of [{ content: '' }, { content: [] }, { content: null }, {}]) {
      const system = { role: 'system', ...silent };
      const answer = await message({
        messages: [user('hi'), { ...system, output_config: { effort: 'high' } }, user('and?')],
      });
      const { messages } = await on.folder.interaction(answer.id);
      expect(messages).toEqual([user('hi'), user('and?')]);
      await response({ input: [system, user('hi')] });
      await chat({ messages: [system, user('hi')] });
    }
    await message({ system: [] });
    await response({ instructions: '' });
  });

  test('an image is replaced by a text, and the history keeps its hash', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const asked = [{ role: 'user', content: [{ type: 'text', text: 'what is this?' }, image] }];
    const first = await message({ messages: asked });
    expect(ignoredIn(first)).toEqual(['messages.0.content.1: image']);
    const fact = await on.folder.interaction(first.id);
    expect(fact.messages[0]!.content).toMatchObject([{ text: 'what is this?' }, { text: '[image]' }]);
    const result = { type: 'tool_result', tool_use_id: 'a', content: [image] };
    const second = await message({
      messages: [
        ...asked,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result, { type: 'text', text: 'and this?' }] },
      ],
    });
    const { messages } = await on.folder.interaction(second.id);
    expect(rollingHashes(messages)).toContain(rollingHashes([...fact.messages, fact.answer]).at(-1));
    expect(messages.at(-2)).toMatchObject({ role: 'tool', content: [{ text: '[image]' }] });
    const part = { type: 'input_image', image_url: pixel };
    expect(ignoredIn(await response({ input: [{ role: 'user', content: [part] }] }))).toEqual([
      'input[0].content[0]: input_image',
    ]);
    expect(await counted('image')).toBe(3);
  });

  test('documents and calls of server tools in a history do not stop it, and the answer names them', async () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const document = { type: 'document', source: { type: 'file', file_id: 'x' } };
    const said = await message({
      messages: [
        { role: 'user', content: [document] },
        { role: 'assistant', content: [search] },
        user('and?'),
      ],
    });
    expect(ignoredIn(said)).toEqual([
      'messages.0.content.0: document',
      'messages.1.content.0: server_tool_use',
    ]);
    expect((await on.folder.interaction(said.id)).messages).toMatchObject([
      { role: 'user', content: [{ text: '[document]' }] },
      { role: 'assistant', content: '[tool]' },
      user('and?'),
    ]);
    const part = { type: 'input_file', file_id: 'x' };
    const input = [{ role: 'user', content: [part] }, { type: 'web_search_call', id: 'w' }, user('and?')];
    expect(ignoredIn(await response({ input }))).toEqual([
      'input[0].content[0]: input_file',
      'input[1]: web_search_call',
    ]);
    const file = { type: 'file', file: { file_id: 'x' } };
    expect(ignoredIn(await chat({ messages: [{ role: 'user', content: [file] }] }))).toEqual([
      'messages[0].content[0]: file',
    ]);
  });

  test('values that mean no limit, greedy sampling and a user name are accepted', async () => {
    const greedy = { top_p: 0, temperature: 1 };
    const [one, other] = [await chat({ ...greedy }), await chat({ ...greedy })];
    expect(one.choices[0]!.message.content).toBe(other.choices[0]!.message.content);
    expect((await on.folder.interaction(one.id)).sampling.temperature).toBe(0);
    for (const none of [-1, null]) {
      const free = await Promise.all([
        chat({ max_tokens: none, user: 7 }),
        response({ max_output_tokens: none, user: 7 }),
        message({ max_tokens: none, metadata: { user_id: 7 } }),
      ]);
      for (const { id } of free) {
        const { sampling, user: name } = await on.folder.interaction(id);
        expect(sampling.maxTokens).toBeGreaterThan(40);
        expect(name).toBe('7');
      }
    }
  });

  test('functions of the old form are called in the old form', async () => {
    const request = {
      functions: [{ name: 'look', parameters }],
      function_call: { name: 'look' },
      max_tokens: 200,
      temperature: 0,
    };
    const { choices, id } = await chat(request);
    const { message: answer, finish_reason } = choices[0]!;
    expect(finish_reason).toBe('function_call');
    expect(answer).not.toHaveProperty('tool_calls');
    expect(answer.function_call!.name).toBe('look');
    expect(JSON.parse(answer.function_call!.arguments)).toEqual({ city: 'Zurich' });
    const deltas: OpenAI.Chat.ChatCompletionChunk.Choice[] = [];
    const stream = await chat({ ...request, stream: true });
    for await (const { choices } of stream as unknown as AsyncIterable<OpenAI.Chat.ChatCompletionChunk>)
      deltas.push(...choices);
    const parts = deltas.flatMap(({ delta }) => (delta.function_call ? [delta.function_call] : []));
    expect(parts.map(({ name = '' }) => name).join('')).toBe('look');
    expect(parts.map((part) => part.arguments ?? '').join('')).toBe(answer.function_call!.arguments);
    expect(deltas.at(-1)!.finish_reason).toBe('function_call');
    const next = await chat({
      functions: request.functions,
      messages: [user('hi'), answer, { role: 'function', name: 'look', content: 'cold' }],
    });
    const [fact, after] = [await on.folder.interaction(id), await on.folder.interaction(next.id)];
    expect(rollingHashes(after.messages)).toContain(rollingHashes([...fact.messages, fact.answer]).at(-1));
    expect(after.messages.at(-1)).toMatchObject({ role: 'tool', content: 'cold' });
  });
});

describe('with --strict-fields and --images refuse', () => {
  const on = servingForSuite(['--model', 'claw-nano', '--strict-fields', 'true', '--images', 'refuse']);

  test('the same fields are refused by name, in the format of each API', async () => {
    const send = async (path: string, body: object): Promise<string> => {
      const response = await fetch(`${on.serving.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as { error: { param?: string; message: string } };
      return `${response.status} ${error.param ?? error.message}`;
    };
    const chat = { model: 'm', messages: [user('hi')] };
    const response = { model: 'm', input: 'hi' };
    const image = (type: string) => [{ role: 'user', content: [{ type }] }];
    const search = { type: 'web_search', name: 'web_search' };
    for (const [path, body, named] of [
      ['/v1/chat/completions', { ...chat, client_metadata: 1 }, /^400 client_metadata$/],
      ['/v1/chat/completions', { ...chat, web_search_options: {} }, /^400 web_search_options$/],
      ['/v1/chat/completions', { ...chat, tools: [search] }, /^400 tools\[0\].type$/],
      ['/v1/chat/completions', { ...chat, messages: image('image_url') }, /^400 messages\[0\].content\[0\]$/],
      ['/v1/responses', { ...response, client_metadata: 1 }, /^400 client_metadata$/],
      ['/v1/responses', { ...response, tools: [search] }, /^400 tools\[0\].type$/],
      ['/v1/responses', { ...response, input: image('input_image') }, /^400 input\[0\].content\[0\]$/],
      ['/v1/chat/completions', { ...chat, messages: image('file') }, /^400 messages\[0\].content\[0\]$/],
      ['/v1/responses', { ...response, input: image('input_file') }, /^400 input\[0\].content\[0\]$/],
      ['/v1/responses', { ...response, input: [{ type: 'web_search_call' }] }, /^400 input\[0\]$/],
      ['/v1/messages', { ...claude, messages: image('tool_reference') }, /^400 .*messages.0.content.0/],
      ['/v1/messages', { ...claude, safeguards: [] }, /^400 .*safeguards.* not supported/],
      ['/v1/messages', { ...claude, mcp_servers: [{}] }, /^400 .*mcp_servers.* not supported/],
      ['/v1/messages', { ...claude, tools: [search] }, /^400 .*tools.0.type.* not supported/],
      [
        '/v1/messages',
        { ...claude, messages: image('image') },
        /^400 .*messages.0.content.0.* not supported/,
      ],
    ] as const)
      expect(await send(path, body)).toMatch(named);
    expect(await on.folder.events('conversations')).toEqual([]);
  });
});
