import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from '../e2e/serving-process.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  upstreamDouble,
  usageFrame,
} from '../e2e/serving-upstream-double.ts';

// OpenAI's own client and its Responses: against claw-nano, and against an engine that says what is wanted.

let folder: ServingFolder;
let upstream: UpstreamDouble;
let serving: ServingProcess;
let client: OpenAI;
let scripted: OpenAI;
beforeAll(async () => {
  folder = await servingFolder();
  upstream = await upstreamDouble();
  serving = await folder.start(['--model', 'claw-nano']);
  client = serving.client;
  scripted = (await folder.start(['--engine', 'upstream', '--upstream-url', upstream.url])).client;
});
afterAll(async () => {
  await folder.dispose();
  await upstream.close();
});

/** Greedy, so that two requests are answered alike. */
const greedy = { model: 'clawloop', max_output_tokens: 40, temperature: 0 };
const interaction = async (id: string): Promise<InteractionCompleted['data']> => {
  const found = (await folder.events('conversations')).find((event) => event.id === id);
  if (found?.type !== 'interaction.completed') throw new Error(`${id} was not recorded`);
  return found.data;
};

test('a response comes whole, and its fact is the one that a chat would have', async () => {
  const response = await client.responses.create({
    ...{ model: 'gpt-anything', max_output_tokens: 12, temperature: 0.7, top_p: 0.9, store: false },
    instructions: 'Be kind.',
    input: [
      { role: 'user', content: 'hi' },
      { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ],
    metadata: { where: 'here' },
  });
  expect(response).toMatchObject({
    ...{ object: 'response', model: 'gpt-anything', store: false, error: null },
    ...{ instructions: 'Be kind.', metadata: { where: 'here' }, previous_response_id: null },
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text' }] }],
    clawloop: { version: 0, recorded: true },
  });
  const fact = await interaction(response.id);
  expect(fact).toMatchObject({
    ...{ api: 'responses', live: true, settle: 'votes', version: 0 },
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'hi' },
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    ],
    answer: { role: 'assistant', content: response.output_text },
    sampling: { temperature: 0.7, topP: 0.9, maxTokens: 12 },
  });
  expect(fact.tokens!.promptIds).toHaveLength(response.usage!.input_tokens);
  expect(fact.tokens!.responseIds).toHaveLength(response.usage!.output_tokens);
  const given = await fetch(`${serving.url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ completion_id: response.id, rating: 'up' }),
  });
  expect(given.status).toBe(200);
});

test('a stream has its events in order, and says the same as the whole response', async () => {
  const request = { ...greedy, input: 'hello there' };
  const whole = await client.responses.create(request);
  const events: { readonly type: string; readonly sequence_number: number }[] = [];
  const stream = client.responses.stream(request).on('event', (event) => void events.push(event));
  const streamed = await stream.finalResponse();
  expect(streamed.output_text).toBe(whole.output_text);
  expect(streamed.status).toBe('completed');
  expect(streamed.usage!.total_tokens).toBe(whole.usage!.total_tokens);
  expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index));
  expect(events.map(({ type }) => type.replace('response.', '')).join(' ')).toMatch(
    /^created in_progress output_item.added content_part.added( output_text.delta)+ output_text.done content_part.done output_item.done completed$/,
  );
  const short = await client.responses.create({ ...request, max_output_tokens: 2 });
  expect(short).toMatchObject({
    ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  });
});

test('a conversation goes on by the id of its last response, also after a restart', async () => {
  const first = await client.responses.create({ ...greedy, instructions: 'Be brief.', input: 'hello' });
  const goOn = (by: OpenAI) =>
    by.responses.create({ ...greedy, previous_response_id: first.id, input: 'thank you' });
  const second = await goOn(client);
  expect(second.previous_response_id).toBe(first.id);
  const other = await folder.start(['--model', 'claw-nano']); // it has never seen the first one
  const again = await goOn(other.client);
  expect(again.output_text).toBe(second.output_text);
  const [before, after, afterRestart] = [
    await interaction(first.id),
    await interaction(second.id),
    await interaction(again.id),
  ];
  expect(after.messages).toEqual([
    { role: 'user', content: 'hello' },
    before.answer,
    { role: 'user', content: 'thank you' },
  ]);
  expect(afterRestart.messages).toEqual(after.messages);
  expect(rollingHashes(after.messages)).toContain(rollingHashes([...before.messages, before.answer]).at(-1));
  const lost = client.responses.create({ ...greedy, previous_response_id: 'resp_none', input: 'hi' });
  await expect(lost).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
});

test('a response is told again and deleted by its id, also by another replica and after a restart', async () => {
  const parameters = { type: 'object', properties: {} };
  const created = await client.responses.create({
    ...{ ...greedy, instructions: 'Be brief.', input: 'hello', metadata: { where: 'here' } },
    tools: [{ type: 'function', name: 'look', parameters, strict: null }],
    tool_choice: 'none',
  });
  const again = await client.responses.retrieve(created.id);
  expect(again).toMatchObject({ ...created, _request_id: expect.any(String) });
  expect(again.output_text).toBe(created.output_text);
  const other = (await folder.start(['--model', 'claw-nano'])).client;
  expect(await other.responses.retrieve(created.id)).toMatchObject({
    ...created,
    _request_id: expect.any(String),
  });
  await client.responses.delete(created.id);
  const gone = { status: 404, code: 'response_not_found' };
  await expect(client.responses.retrieve(created.id)).rejects.toMatchObject(gone);
  await expect(client.responses.delete(created.id)).rejects.toMatchObject(gone);
  const goOn = { ...greedy, previous_response_id: created.id, input: 'and?' };
  await expect(client.responses.create(goOn)).rejects.toMatchObject({ code: 'previous_response_not_found' });
  await until('the other replica hears of it', () =>
    other.responses.retrieve(created.id).then(
      () => undefined,
      (error: { readonly status?: number }) => error.status === 404 || undefined,
    ),
  );
  const last = (await folder.start(['--model', 'claw-nano'])).client;
  await expect(last.responses.retrieve(created.id)).rejects.toMatchObject(gone);
  expect(await interaction(created.id)).toMatchObject({ api: 'responses' }); // the log is only added to
});

test('what is not stored cannot be gone on from, referred to or told again; nor can a chat be told as a response', async () => {
  const { id, output } = await client.responses.create({ ...greedy, input: 'hello', store: false });
  const goOn = client.responses.create({ ...greedy, previous_response_id: id, input: 'and?' });
  await expect(goOn).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
  const reference = { type: 'item_reference' as const, id: output[0]!.id! };
  const refer = client.responses.create({ ...greedy, input: [reference, { role: 'user', content: 'and?' }] });
  await expect(refer).rejects.toMatchObject({ status: 400, param: 'input[0]' });
  const chat = await client.chat.completions.create({
    ...{ model: 'clawloop', max_tokens: 5 },
    messages: [{ role: 'user', content: 'hi' }],
  });
  for (const one of [id, chat.id, 'resp_none'])
    await expect(client.responses.retrieve(one), one).rejects.toMatchObject({ status: 404 });
  const other = (await folder.start(['--model', 'claw-nano'])).client;
  await expect(other.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
});

test('an input that does not fit is named as the field of each API', async () => {
  const small = (await folder.start(['--model', 'claw-nano', '--context', 'error', '--context-tokens', '64']))
    .client;
  const input = 'word '.repeat(400);
  const tooLong = { status: 400, code: 'context_length_exceeded' };
  const responses = { model: 'clawloop', input };
  await expect(small.responses.create(responses)).rejects.toMatchObject({ ...tooLong, param: 'input' });
  const streamed = small.responses.create({ ...responses, stream: true });
  await expect(streamed).rejects.toMatchObject({ ...tooLong, param: 'input' });
  const chat = small.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: input }] });
  await expect(chat).rejects.toMatchObject({ ...tooLong, param: 'messages' });
});

test('thoughts, words and calls are items, and go back as one answer', async () => {
  upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame({ reasoning_content: 'Let me look.' }),
      deltaFrame({ content: 'Looking' }),
      deltaFrame({
        tool_calls: [{ index: 0, id: 'call_7', function: { name: 'exec', arguments: '{"cmd":' } }],
      }),
      deltaFrame({ tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] }),
      finishFrame('tool_calls'),
      usageFrame(11, 7),
    ]),
  );
  const parameters = { type: 'object', properties: { cmd: { type: 'string' } } };
  const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    ...{ model: 'clawloop', input: 'list' },
    tools: [{ type: 'function', name: 'exec', description: 'Runs', parameters, strict: null }],
  };
  const whole = await scripted.responses.create(request);
  const { stream: _, ...streaming } = request;
  const streamed = await scripted.responses.stream(streaming).finalResponse();
  for (const response of [whole, streamed]) {
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me look.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Looking' }] },
      { type: 'function_call', call_id: 'call_7', name: 'exec', arguments: '{"cmd":"ls"}' },
    ]);
    expect(response.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  }
  expect(upstream.calls.at(-1)!.body.tools).toEqual([
    { type: 'function', function: { name: 'exec', description: 'Runs', parameters } },
  ]);
  upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'Two.' }), finishFrame('stop')]),
  );
  const output = { type: 'function_call_output', call_id: 'call_7', output: 'a b' } as const;
  const asked = [
    { role: 'user', content: 'list' },
    {
      role: 'assistant',
      content: 'Looking',
      reasoning_content: 'Let me look.',
      tool_calls: [{ id: 'call_7' }],
    },
    { role: 'tool', tool_call_id: 'call_7', content: 'a b' },
  ];
  await scripted.responses.create({ ...request, previous_response_id: whole.id, input: [output] });
  expect(upstream.calls.at(-1)!.body.messages).toMatchObject(asked);
  const items = whole.output as OpenAI.Responses.ResponseInputItem[];
  const input = [{ role: 'user', content: 'list' } as const, ...items, output];
  await scripted.responses.create({ ...request, input });
  expect(upstream.calls.at(-1)!.body.messages).toMatchObject(asked);
});

test('a call that has to come does, whole or in parts', async () => {
  const parameters = { type: 'object', properties: {} };
  const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    ...{ ...greedy, input: 'hello', tool_choice: 'required', parallel_tool_calls: false },
    tools: [{ type: 'function', name: 'look', parameters, strict: null }],
  };
  const whole = await client.responses.create(request);
  const { stream: _, ...streaming } = request;
  const parts: string[] = [];
  const stream = client.responses.stream(streaming);
  stream.on('response.function_call_arguments.delta', ({ delta }) => parts.push(delta));
  const streamed = await stream.finalResponse();
  for (const { output } of [whole, streamed])
    expect(output).toMatchObject([{ type: 'function_call', name: 'look' }]);
  expect(streamed.output).toMatchObject([{ arguments: parts.join('') }]);
});

test('what cannot be honoured is refused by its name', async () => {
  const before = (await folder.events('conversations')).length;
  const message = (...content: object[]) => ({ input: [{ role: 'user', content }] });
  const refusals: readonly (readonly [more: object, param: string])[] = [
    [message({ type: 'input_image', image_url: 'x' }), 'input[0].content[0]'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0]'],
    [{ input: [{ type: 'item_reference', id: 'msg_0_resp_none' }] }, 'input[0]'],
    [{ input: [{ type: 'item_reference' }] }, 'input[0].id'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id'],
    [{ input: [] }, 'input'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ text: { format: { type: 'json_object' } } }, 'text.format.type'],
    [{ background: true }, 'background'],
    [{ conversation: 'x' }, 'conversation'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ temperature: 3 }, 'temperature'],
    [{ stop: 'x' }, 'stop'],
  ];
  for (const [more, param] of refusals) {
    const body = { model: 'm', input: 'hi', ...more } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const error = await client.responses.create(body).catch((thrown: unknown) => thrown);
    expect(error, param).toMatchObject({ status: 400, type: 'invalid_request_error', param });
  }
  expect((await folder.events('conversations')).length).toBe(before);
});

test('what breaks is told, and an answer that its reader left is recorded as it stood', async () => {
  upstream.script((_, response) => sendFrames(response, [deltaFrame({ content: 'Hel' })], false));
  const ask = { model: 'clawloop', input: 'go' };
  await expect(scripted.responses.create(ask)).rejects.toMatchObject({ status: 502 });
  const types: string[] = [];
  for await (const event of await scripted.responses.create({ ...ask, stream: true })) {
    types.push(event.type);
    if (event.type === 'response.failed') expect(event.response.error!.message).toContain('upstream');
  }
  expect(types.at(-1)).toBe('response.failed');
  upstream.script((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(deltaFrame({ content: 'Hel' }))}\n\n`); // and no more
  });
  let id = '';
  for await (const event of await scripted.responses.create({ ...ask, stream: true })) {
    if (event.type === 'response.created') id = event.response.id;
    if (event.type === 'response.output_text.delta') break;
  }
  const fact = await until('the fact', () => interaction(id).catch(() => undefined));
  expect(fact).toMatchObject({ finishReason: 'aborted', disconnected: true, answer: { content: 'Hel' } });
});
