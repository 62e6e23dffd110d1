import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, expect, test } from 'vitest';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import { defined } from '../../shared/lang/defined.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// Anthropic's own client against claw-nano: the answers that it receives, and their records in the log.

const on = servingForSuite(['--model', 'claw-nano']);
let client: Anthropic;
beforeAll(() => {
  client = new Anthropic({ baseURL: on.serving.url, apiKey: 'any', maxRetries: 0 });
});

const user = (content: string) => ({ role: 'user', content }) as const;
/** Greedy, so that two requests are answered alike. */
const greedy = { model: 'claude-anything', max_tokens: 40, temperature: 0 };
const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const post = (path: string, body: string, method = 'POST') =>
  fetch(`${on.serving.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...defined({ body: method === 'POST' ? body : undefined }),
  });

/** The SDK no longer knows these fields; its older versions send them. */
const sampling = { temperature: 0.7, top_p: 0.9, top_k: 40 };

test('a message is answered whole, and its record is the same as for a chat', async () => {
  const { data: message, response } = await client.messages
    .create({
      model: 'claude-anything',
      max_tokens: 12,
      ...sampling,
      system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
      messages: [user('hi'), { role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      metadata: { user_id: 'user-7' },
    })
    .withResponse();
  expect(message).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'claude-anything',
    stop_sequence: null,
    content: [{ type: 'text' }],
    clawloop: { version: 0, recorded: true },
  });
  expect(message.id).toMatch(/^msg_/);
  expect(response.headers.get('request-id')).toMatch(/^req_/);
  expect(response.headers.get('x-clawloop-version')).toBe('0');
  const fact = await on.folder.interaction(message.id);
  expect(fact).toMatchObject({
    api: 'messages',
    live: true,
    settle: 'votes',
    version: 0,
    engine: 'local',
    model: 'claude-anything',
    user: 'user-7',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      user('hi'),
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    ],
    answer: { role: 'assistant', content: textOf(message) },
    sampling: { temperature: 0.7, topP: 0.9, topK: 40, maxTokens: 12 },
    disconnected: false,
  });
  const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
  expect(fact.tokens!.promptIds).toHaveLength(input_tokens + cache_read_input_tokens!);
  expect(fact.tokens!.responseIds).toHaveLength(output_tokens);
  expect(fact.tokens!.logProbs).toHaveLength(output_tokens);
});

test('a stream has its events in order, and has the same content as the whole message', async () => {
  const request = { ...greedy, messages: [user('hello there')] };
  const whole = await client.messages.create(request);
  const types: string[] = [];
  const stream = client.messages.stream(request).on('streamEvent', ({ type }) => types.push(type));
  const streamed = await stream.finalMessage();
  expect(types.join(' ')).toMatch(
    /^message_start content_block_start( content_block_delta)+ content_block_stop message_delta message_stop$/,
  );
  const shown = ({ content, stop_reason, usage }: Anthropic.Message) => ({
    text: content.map((block) => block.type === 'text' && block.text),
    stop_reason,
    tokens: [usage.input_tokens + usage.cache_read_input_tokens!, usage.output_tokens],
  });
  expect(shown(streamed)).toEqual(shown(whole));
  expect(whole.stop_reason).toBe('end_turn');
  expect((await on.folder.interaction(streamed.id)).answer.content).toBe(textOf(whole)); // durable by now
});

test('the answer says why it ended: a stop sequence, or max_tokens', async () => {
  const request = { ...greedy, messages: [user('hello')] };
  const free = textOf(await client.messages.create(request));
  const stop = free.slice(3, 6);
  for (const cut of [
    await client.messages.create({ ...request, stop_sequences: ['never said', stop] }),
    await client.messages.stream({ ...request, stop_sequences: ['never said', stop] }).finalMessage(),
  ]) {
    expect(cut).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: stop });
    expect(textOf(cut)).toBe(free.slice(0, free.indexOf(stop)));
  }
  const short = await client.messages.create({ ...request, max_tokens: 2 });
  expect(short).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 2 } });
});

test('a conversation continues from the answer', async () => {
  const first = { ...greedy, system: 'Be brief.', messages: [user('hello')] };
  const answer = await client.messages.create(first);
  const second = await client.messages.create({
    ...first,
    messages: [...first.messages, { role: 'assistant', content: answer.content }, user('thank you')],
  });
  const [before, after] = [await on.folder.interaction(answer.id), await on.folder.interaction(second.id)];
  expect(rollingHashes(after.messages)).toContain(rollingHashes([...before.messages, before.answer]).at(-1));
  expect(after.lane).toBe(before.lane);
});

test('tokens are counted as the model will read them', async () => {
  const request = {
    model: 'claude-anything',
    system: 'Be brief.',
    messages: [user('hello')],
    tools: [{ name: 'look', description: 'Looks', input_schema: { type: 'object' } as const }],
  };
  const counted = await client.messages.countTokens(request);
  const { usage } = await client.messages.create({ ...request, max_tokens: 1 });
  expect(counted).toEqual({ input_tokens: usage.input_tokens + usage.cache_read_input_tokens! });
  expect(await (await post('/messages/count_tokens', JSON.stringify(request))).json()).toEqual(counted);
  const answered = {
    ...request,
    messages: [...request.messages, { role: 'assistant', content: 'hi' } as const],
  };
  expect((await client.messages.countTokens(answered)).input_tokens).toBeGreaterThan(counted.input_tokens);
});

test('the models are listed once for the clients of both APIs', async () => {
  const theirs: { readonly id: string }[] = [];
  for await (const model of client.models.list({ limit: 1 })) theirs.push(model);
  const ids = (await on.serving.client.models.list()).data.map(({ id }) => id);
  expect(theirs.map(({ id }) => id)).toEqual(ids);
  expect(theirs[0]).toMatchObject({
    type: 'model',
    id: 'clawloop',
    display_name: 'clawloop',
    object: 'model',
  });
  const { created, created_at } = theirs[0] as unknown as { created: number; created_at: string };
  expect(Date.parse(created_at)).toBe(created * 1000);
  const { has_more, first_id, last_id } = await client.models.list();
  expect([has_more, first_id, last_id]).toEqual([false, ids.at(0), ids.at(-1)]);
  expect(await client.models.retrieve('@base')).toMatchObject({ type: 'model', display_name: '@base' });
  const error = await client.models.retrieve('clawloop@v99').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Anthropic.NotFoundError);
  expect(error).toMatchObject({ type: 'not_found_error', requestID: expect.stringMatching(/^req_/) });
  await expect(on.serving.client.models.retrieve('clawloop@v99')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
});

test('the answer to a required call is a call, whole or streamed', async () => {
  const schema = { type: 'object', properties: { at: { type: 'string' } } } as const;
  const request: Anthropic.MessageCreateParamsNonStreaming = {
    ...greedy,
    messages: [user('hello')],
    tools: [
      { name: 'look', input_schema: schema },
      { name: 'listen', input_schema: schema },
    ],
    tool_choice: { type: 'tool', name: 'listen', disable_parallel_tool_use: true },
  };
  const whole = await client.messages.create(request);
  const parts: string[] = [];
  const stream = client.messages.stream({ ...request, stream: true });
  const streamed = await stream.on('inputJson', (part) => parts.push(part)).finalMessage();
  for (const message of [whole, streamed])
    expect(message.content).toMatchObject([{ type: 'tool_use', name: 'listen' }]);
  const [call] = (await on.folder.interaction(streamed.id)).answer.tool_calls!;
  expect(call).toMatchObject({ function: { name: 'listen', arguments: parts.join('') } });
});

test('feedback accepts the id of a message, streamed or not', async () => {
  const request = { ...greedy, messages: [user('rate me')] };
  const ids = [
    (await client.messages.create(request)).id,
    (await client.messages.stream(request).finalMessage()).id,
  ];
  for (const id of ids) {
    const given = await post('/v1/feedback', JSON.stringify({ completion_id: id, reward: 0.5 }));
    expect(given.status).toBe(200);
  }
  const events = await on.folder.events('conversations');
  const given = events.filter((event): event is FeedbackGiven => event.type === 'feedback.given');
  const { lane } = await on.folder.interaction(ids[0]!);
  expect(given.map(({ data }) => data)).toMatchObject(ids.map((interactionId) => ({ interactionId, lane })));
});

test('a field that cannot be honoured is refused by name, in the format that clients read', async () => {
  const before = (await on.folder.events('conversations')).length;
  const ask = { model: 'm', max_tokens: 5, messages: [user('hi')] };
  const content = (...blocks: object[]) => ({ messages: [{ role: 'user', content: blocks }] });
  const refusals: readonly (readonly [more: object, named: string])[] = [
    [content({ type: 'video', source: {} }), 'messages.0.content.0'],
    [content({ type: 'text', text: 'see' }, { type: 'document', source: {} }), 'messages.0.content.1'],
    [content({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'video' }] }), 'content.0.content.0'],
    [content({ type: 'tool_result' }), 'tool_use_id'],
    [content(), 'messages.0.content'],
    [{ messages: [] }, 'messages'],
    [{ messages: [user('hi'), { role: 'assistant', content: 'Well,' }] }, 'messages.1'],
    [{ messages: [{ role: 'robot', content: 'hi' }] }, 'messages.0.role'],
    [{ system: [{ type: 'video' }] }, 'system.0'],
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ temperature: 1.5 }, 'temperature'],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools.0.type'],
    [{ tools: [{ input_schema: {} }] }, 'tools.0.name'],
    [{ tools: [{ name: 'x' }] }, 'tools.0.input_schema'],
    [{ tool_choice: { type: 'sometimes' } }, 'tool_choice'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format'],
    [{ model: 'clawloop@v99' }, 'clawloop@v99'],
  ];
  for (const [more, named] of refusals) {
    const refused = client.messages.create({ ...ask, ...more } as Anthropic.MessageCreateParamsNonStreaming);
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error, named).toBeInstanceOf(Anthropic.APIError);
    const isModel = 'model' in more;
    expect(error, named).toMatchObject({
      status: isModel ? 404 : 400,
      error: { type: 'error', error: { type: isModel ? 'not_found_error' : 'invalid_request_error' } },
      requestID: expect.stringMatching(/^req_/),
    });
    expect((error as Error).message).toContain(named);
  }
  const format = { type: 'json_schema', schema: { description: 'x'.repeat(300_000) } };
  const count = client.messages.countTokens({
    model: ask.model,
    messages: ask.messages,
    output_config: { format },
  } as Anthropic.MessageCountTokensParams);
  await expect(count).rejects.toThrow('output_config.format');
  const older = client.messages.create({
    ...ask,
    output_format: format,
  } as Anthropic.MessageCreateParamsNonStreaming);
  await expect(older).rejects.toThrow('output_format');
  for (const [path, body, status, type] of [
    ['/v1/messages', '{', 400, 'invalid_request_error'],
    ['/messages', '[]', 400, 'invalid_request_error'],
    ['/v1/messages', `{"metadata":${'['.repeat(4000)}${']'.repeat(4000)}}`, 400, 'invalid_request_error'],
    ['/v1/messages/batches', '{}', 404, 'not_found_error'],
    ['/v1/messages', '', 405, 'invalid_request_error'],
  ] as const) {
    const response = await post(path, body, status === 405 ? 'GET' : 'POST');
    expect(response.status, body.slice(0, 20)).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type } });
  }
  expect((await on.folder.events('conversations')).length).toBe(before);
});
