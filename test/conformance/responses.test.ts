import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { until } from '../e2e/harness/clawloop.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// OpenAI's own client and its Responses API against claw-nano.

const on = servingForSuite(['--model', 'claw-nano']);
/** Greedy, so that two requests are answered alike. */
const greedy = { model: 'clawloop', max_output_tokens: 40, temperature: 0 };

test('a response is answered whole, and its record is the same as for a chat', async () => {
  const response = await on.serving.client.responses.create({
    model: 'gpt-anything',
    max_output_tokens: 12,
    temperature: 0.7,
    top_p: 0.9,
    store: false,
    instructions: 'Be kind.',
    input: [
      { role: 'user', content: 'hi' },
      { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ],
    metadata: { where: 'here' },
  });
  expect(response).toMatchObject({
    object: 'response',
    model: 'gpt-anything',
    store: false,
    error: null,
    instructions: 'Be kind.',
    metadata: { where: 'here' },
    previous_response_id: null,
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text' }] }],
    clawloop: { version: 0, recorded: true },
  });
  const fact = await on.folder.interaction(response.id);
  expect(fact).toMatchObject({
    api: 'responses',
    live: true,
    settle: 'votes',
    version: 0,
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
  const given = await fetch(`${on.serving.url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ completion_id: response.id, rating: 'up' }),
  });
  expect(given.status).toBe(200);
});

test('a stream has its events in order, and has the same content as the whole response', async () => {
  const request = { ...greedy, input: 'hello there' };
  const whole = await on.serving.client.responses.create(request);
  const events: { readonly type: string; readonly sequence_number: number }[] = [];
  const stream = on.serving.client.responses.stream(request).on('event', (event) => void events.push(event));
  const streamed = await stream.finalResponse();
  expect(streamed.output_text).toBe(whole.output_text);
  expect(streamed.status).toBe('completed');
  expect(streamed.usage!.total_tokens).toBe(whole.usage!.total_tokens);
  expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index));
  expect(events.map(({ type }) => type.replace('response.', '')).join(' ')).toMatch(
    /^created in_progress output_item.added content_part.added( output_text.delta)+ output_text.done content_part.done output_item.done completed$/,
  );
  const short = await on.serving.client.responses.create({ ...request, max_output_tokens: 2 });
  expect(short).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  });
});

test('for an input that does not fit, the error names the field of each API', async () => {
  const small = (
    await on.folder.start(['--model', 'claw-nano', '--context', 'error', '--context-tokens', '64'])
  ).client;
  const input = 'word '.repeat(400);
  const tooLong = { status: 400, code: 'context_length_exceeded' };
  const responses = { model: 'clawloop', input };
  await expect(small.responses.create(responses)).rejects.toMatchObject({ ...tooLong, param: 'input' });
  const messages = [{ role: 'user', content: input } as const];
  for (const stream of [false, true]) {
    const chat = small.chat.completions.create({ model: 'm', messages, stream });
    await expect(chat).rejects.toMatchObject({ ...tooLong, param: 'messages' });
  }
});

test('a stream whose input does not fit says so in its last event, and counts as a refused request', async () => {
  const flags = ['--model', 'claw-nano', '--context', 'error', '--context-tokens', '64'];
  const small = await on.folder.start([...flags, '--other-requests-per-minute', '1']);
  const before = (await on.folder.events('conversations')).length;
  const request = { model: 'clawloop', input: 'word '.repeat(400) };
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of await small.client.responses.create({ ...request, stream: true }))
    events.push(event);
  expect(events.map(({ sequence_number: at }) => at)).toEqual([0, 1, 2]);
  const error = { code: 'context_length_exceeded', message: expect.stringContaining('64 tokens') };
  expect(events).toMatchObject([
    { type: 'response.created', response: { status: 'in_progress' } },
    { type: 'response.in_progress' },
    { type: 'response.failed', response: { status: 'failed', output: [], error } },
  ]);
  expect((await on.folder.events('conversations')).length).toBe(before);
  const counted = 'clawloop_serving_requests_total{route="/v1/responses",status="400",service="serving"}';
  await until('it is counted', async () => (await small.metric(counted)) === 1);
  expect(small.output()).not.toContain('stream ended');
  await expect(small.client.responses.create(request)).rejects.toMatchObject({
    status: 429,
    message: expect.stringContaining('refused requests per minute'),
  });
});

test('the answer to a required call is a call, whole or streamed', async () => {
  const parameters = { type: 'object', properties: {} };
  const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    ...greedy,
    input: 'hello',
    tool_choice: 'required',
    parallel_tool_calls: false,
    tools: [{ type: 'function', name: 'look', parameters, strict: null }],
  };
  const whole = await on.serving.client.responses.create(request);
  const { stream: _, ...streaming } = request;
  const parts: string[] = [];
  const stream = on.serving.client.responses.stream(streaming);
  stream.on('response.function_call_arguments.delta', ({ delta }) => parts.push(delta));
  const streamed = await stream.finalResponse();
  for (const { output } of [whole, streamed])
    expect(output).toMatchObject([{ type: 'function_call', name: 'look' }]);
  expect(streamed.output).toMatchObject([{ arguments: parts.join('') }]);
});

test('a field that cannot be honoured is refused by name', async () => {
  const before = (await on.folder.events('conversations')).length;
  const message = (...content: object[]) => ({ input: [{ role: 'user', content }] });
  const refusals: readonly (readonly [more: object, param: string])[] = [
    [message({ type: 'input_audio' }), 'input[0].content[0]'],
    [{ input: [{ type: 'video_call' }] }, 'input[0]'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0]'],
    [{ input: [{ type: 'item_reference', id: 'msg_0_resp_none' }] }, 'input[0]'],
    [{ input: [{ type: 'item_reference' }] }, 'input[0].id'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id'],
    [{ input: [] }, 'input'],
    [{ tools: [{ type: 'custom', name: 'x' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'custom' }] }] }, 'tools[0].tools[0].type'],
    [{ text: { format: { type: 'grammar' } } }, 'text.format'],
    [{ background: true }, 'background'],
    [{ conversation: 'x' }, 'conversation'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ temperature: 3 }, 'temperature'],
  ];
  for (const [more, param] of refusals) {
    const body = { model: 'm', input: 'hi', ...more } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const error = await on.serving.client.responses.create(body).catch((thrown: unknown) => thrown);
    expect(error, param).toMatchObject({ status: 400, type: 'invalid_request_error', param });
  }
  expect((await on.folder.events('conversations')).length).toBe(before);
});
