import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { servingOnScript } from '../e2e/serving-on-script.ts';
import { deltaFrame, finishFrame, sendFrames, usageFrame } from '../e2e/serving-upstream-double.ts';

// Chat completions of an upstream engine, as OpenAI's own client receives them.

const hello = [
  deltaFrame({ content: 'Hel' }),
  deltaFrame({ content: 'lo' }),
  finishFrame('stop'),
  usageFrame(3, 2),
];
const on = servingOnScript([], (_, response) => sendFrames(response, hello));

const tools = [{ type: 'function', function: { name: 'exec', parameters: {} } }] as const;
const request = (content = 'hi') => ({
  model: 'clawloop',
  messages: [{ role: 'user', content }] as const satisfies OpenAI.Chat.ChatCompletionMessageParam[],
});
const call = (index: number, id: string) => [
  deltaFrame({ tool_calls: [{ index, id, type: 'function', function: { name: 'exec', arguments: '' } }] }),
  deltaFrame({ tool_calls: [{ index, function: { arguments: '{"cmd":' } }] }),
  deltaFrame({ tool_calls: [{ index, function: { arguments: '"ls"}' } }] }),
];
const whole = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'exec', arguments: '{"cmd":"ls"}' },
});
const askedOf = () => on.upstream.calls.at(-1)!.body;

test('the arguments of a call are streamed as they are written, and the client assembles them', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [
      ...call(0, 'call_1'),
      ...call(1, 'call_2'),
      finishFrame('tool_calls'),
      usageFrame(3, 9),
    ]),
  );
  const parts: string[] = [];
  const stream = on.serving.client.chat.completions
    .stream({ ...request(), tools: [...tools] })
    .on('tool_calls.function.arguments.delta', ({ index, arguments_delta }) => {
      parts.push(`${index} ${arguments_delta}`);
    });
  const final = await stream.finalChatCompletion();
  expect(parts).toEqual(['0 {"cmd":', '0 "ls"}', '1 {"cmd":', '1 "ls"}']);
  expect(final.choices[0]!.finish_reason).toBe('tool_calls');
  expect(final.choices[0]!.message.tool_calls).toMatchObject([whole('call_1'), whole('call_2')]);
});

test('one call is requested, and no second call is sent', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [...call(0, 'call_1'), ...call(1, 'call_2'), finishFrame('tool_calls')]),
  );
  const asked = { ...request(), tools: [...tools], parallel_tool_calls: false };
  const answer = await on.serving.client.chat.completions.create(asked);
  expect(answer.choices[0]!.message.tool_calls).toEqual([whole('call_1')]);
  const streamed = await on.serving.client.chat.completions.stream(asked).finalChatCompletion();
  expect(streamed.choices[0]!.message.tool_calls).toMatchObject([whole('call_1')]);
  expect(askedOf()).toMatchObject({ parallel_tool_calls: false });
});

test('a required call is requested from the engine', async () => {
  await on.serving.client.chat.completions.create({
    ...request(),
    tools: [...tools],
    tool_choice: 'required',
  });
  const named = { type: 'function', function: { name: 'exec' } };
  expect(askedOf()).toMatchObject({ tool_choice: named });
  const two = [...tools, { type: 'function', function: { name: 'read' } }] as const;
  await on.serving.client.chat.completions.create({ ...request(), tools: [...two], tool_choice: 'required' });
  expect(askedOf()).toMatchObject({ tool_choice: 'required' });
  await on.serving.client.chat.completions.create({ ...request(), tools: [...tools], tool_choice: 'none' });
  expect(askedOf()).not.toHaveProperty('tools');
});

const once = (key: string) => ({ headers: { 'Idempotency-Key': key } });
const factsOf = async (id: string) =>
  (await on.folder.events('conversations')).filter((event) => event.id === id);

test('a repeated request gets the same answer, streamed or not, and is no second turn', async () => {
  const first = await on.serving.client.chat.completions.create(request(), once('again'));
  const before = on.upstream.calls.length;
  const { data, response } = await on.serving.client.chat.completions
    .create(request(), once('again'))
    .withResponse();
  expect(data).toEqual(first);
  expect(response.headers.get('idempotent-replayed')).toBe('true');
  const options = { ...request(), stream_options: { include_usage: true } };
  const streamed = await on.serving.client.chat.completions
    .stream(options, once('again'))
    .finalChatCompletion();
  expect(streamed).toMatchObject({ id: first.id, created: first.created, usage: first.usage });
  expect(streamed.choices[0]!.message.content).toBe('Hello');
  expect(on.upstream.calls.length).toBe(before);
  expect(await factsOf(first.id)).toHaveLength(1);
  const other = await on.serving.client.chat.completions.create(request(), once('another'));
  expect(other.id).not.toBe(first.id);
});

test('a streamed answer with calls is replayed after a restart', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [...call(0, 'call_1'), finishFrame('tool_calls')]),
  );
  const asked = { ...request(), tools: [...tools] };
  const first = await on.serving.client.chat.completions.stream(asked, once('restart')).finalChatCompletion();
  const before = on.upstream.calls.length;
  await on.serving.stop();
  await on.start();
  const again = await on.serving.client.chat.completions.stream(asked, once('restart')).finalChatCompletion();
  expect(again.id).toBe(first.id);
  expect(again.choices[0]!.message.tool_calls).toMatchObject([whole('call_1')]);
  expect((await on.serving.client.chat.completions.create(asked, once('restart'))).id).toBe(first.id);
  expect(on.upstream.calls.length).toBe(before);
});

test('a key that was used for another request is refused, and the client does not retry', async () => {
  await on.serving.client.chat.completions.create(request(), once('mine'));
  const trying = new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none', maxRetries: 2 });
  const failure = trying.chat.completions.create(request('something else'), once('mine'));
  await expect(failure).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
  await expect(failure).rejects.toMatchObject({ code: 'idempotency_key_reused', param: 'idempotency-key' });
  await expect(
    on.serving.client.chat.completions.create(request(), once('x'.repeat(256))),
  ).rejects.toMatchObject({
    status: 400,
    param: 'idempotency-key',
  });
});

test('two equal requests at the same time get one answer; if the first fails, the second is answered', async () => {
  const { promise: gate, resolve: go } = Promise.withResolvers<void>();
  const before = on.upstream.calls.length;
  on.upstream.script(async (_, response) => {
    await gate;
    sendFrames(response, hello);
  });
  const both = [1, 2].map(() => on.serving.client.chat.completions.create(request(), once('both')));
  go();
  const [one, other] = await Promise.all(both);
  expect(other).toEqual(one);
  expect(on.upstream.calls.length).toBe(before + 1);
  let fails = true;
  on.upstream.script((_, response) => {
    if (fails) response.writeHead(500).end('{}');
    else sendFrames(response, hello);
    fails = false;
  });
  const outcomes = await Promise.allSettled(
    [1, 2].map(() => on.serving.client.chat.completions.create(request(), once('fails'))),
  );
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
});

test('an answer that its client abandoned is not replayed: the same request gets a new answer', async () => {
  const { promise: left, resolve: isLeft } = Promise.withResolvers<void>();
  on.upstream.script(async (_, response) => {
    response.on('close', isLeft);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(hello[0])}\n\n`);
  });
  const stop = new AbortController();
  const stream = await on.serving.client.chat.completions.create(
    { ...request(), stream: true },
    { ...once('left'), signal: stop.signal },
  );
  let id = '';
  for await (const chunk of stream) {
    id = chunk.id;
    if (chunk.choices[0]?.delta.content) stop.abort();
  }
  await left;
  on.upstream.script((_, response) => sendFrames(response, hello));
  const retried = await on.serving.client.chat.completions.create(request(), once('left'));
  expect(retried.id).not.toBe(id);
  expect(retried.choices[0]!.message.content).toBe('Hello');
});

test('the client retries automatically after a failure, and receives the token counts', async () => {
  let fails = true;
  on.upstream.script((_, response) => {
    if (fails) response.writeHead(503).end('{}');
    else sendFrames(response, hello);
    fails = false;
  });
  const trying = new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none', maxRetries: 2 });
  const answer = await trying.chat.completions.create(request());
  expect(answer.choices[0]!.message).toMatchObject({ content: 'Hello', refusal: null });
  expect(answer.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
});
