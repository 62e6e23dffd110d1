import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { servingOnScript } from '../e2e/serving-on-script.ts';
import { deltaFrame, finishFrame, sendFrames, usageFrame } from '../e2e/serving-upstream-double.ts';

// Anthropic's own client against a scripted engine.

const on = servingOnScript(['--api-key', 'sk-here-and-nowhere-else', '--max-concurrent-per-key', '1']);
const withKey = (key: { readonly apiKey: string } | { readonly authToken: string }) =>
  new Anthropic({ baseURL: on.serving.url, apiKey: null, maxRetries: 0, ...key });
const client = () => withKey({ apiKey: 'sk-here-and-nowhere-else' });
const facts = async (): Promise<readonly ClawLoopEvent[]> => on.folder.events('conversations');
const ask = { model: 'clawloop', max_tokens: 50, messages: [{ role: 'user', content: 'list' } as const] };
const exec: Anthropic.Tool = { name: 'exec', description: 'Runs', input_schema: { type: 'object' } };
const callFrames = [
  deltaFrame({ reasoning_content: 'Let me ' }),
  deltaFrame({ reasoning_content: 'look.' }),
  deltaFrame({ content: '\n' }),
  deltaFrame({ content: 'Looking' }),
  deltaFrame({ tool_calls: [{ index: 0, id: 'call_7', function: { name: 'exec', arguments: '{"cmd":' } }] }),
  deltaFrame({ tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] }),
  finishFrame('tool_calls'),
  usageFrame(11, 7),
];

const isArguments = (event: Anthropic.MessageStreamEvent | undefined): boolean =>
  event?.type === 'content_block_delta' && event.delta.type === 'input_json_delta';

test('a key is accepted as x-api-key or as Bearer', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop')]),
  );
  for (const key of [{ apiKey: 'sk-here-and-nowhere-else' }, { authToken: 'sk-here-and-nowhere-else' }])
    expect((await withKey(key).messages.create(ask)).content).toMatchObject([{ text: 'hi' }]);
  for (const key of [{ apiKey: 'sk-other' }, { authToken: 'sk-other' }]) {
    const error = await withKey(key)
      .messages.create(ask)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(error).toMatchObject({ status: 401, type: 'authentication_error' });
  }
});

test('thoughts, text and calls are blocks, and are sent back as one answer', async () => {
  on.upstream.script((_, response) => sendFrames(response, callFrames));
  const request: Anthropic.MessageCreateParamsNonStreaming = {
    ...ask,
    tools: [exec],
    tool_choice: { type: 'auto' },
    thinking: { type: 'adaptive' },
  };
  const whole = await client().messages.create(request);
  const events: Anthropic.MessageStreamEvent[] = [];
  const stream = client()
    .messages.stream({ ...request, stream: true })
    .on('streamEvent', (event) => void events.push(event));
  const streamed = await stream.finalMessage();
  for (const message of [whole, streamed]) {
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Let me look.', signature: message.id },
        { type: 'text', text: '\nLooking' },
        { type: 'tool_use', id: 'call_7', name: 'exec', input: { cmd: 'ls' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 7 },
    });
  }
  // the number of argument parts depends on the engine
  const merged = events.filter((event, at) => !isArguments(event) || !isArguments(events[at - 1]));
  expect(merged.slice(1)).toMatchObject([
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Let me ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'look.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: '\nLooking' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, clawloop: { recorded: true } },
    { type: 'message_stop' },
  ]);
  const asked = on.upstream.calls.at(-1)!.body;
  expect(asked).toMatchObject({
    tools: [
      { type: 'function', function: { name: 'exec', description: 'Runs', parameters: { type: 'object' } } },
    ],
    chat_template_kwargs: { enable_thinking: true },
  });

  on.upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'Two files.' }), finishFrame('stop')]),
  );
  const next = await client().messages.create({
    ...request,
    messages: [
      ...ask.messages,
      { role: 'assistant', content: whole.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_7', content: [{ type: 'text', text: 'a b' }] },
          { type: 'text', text: 'how many?' },
        ],
      },
    ],
  });
  expect(on.upstream.calls.at(-1)!.body.messages).toMatchObject([
    ask.messages[0],
    { role: 'assistant', content: '\nLooking', tool_calls: [{ id: 'call_7' }] },
    { role: 'tool', tool_call_id: 'call_7', content: [{ type: 'text', text: 'a b' }] },
    { role: 'user', content: [{ type: 'text', text: 'how many?' }] },
  ]);
  const { messages, answer } = await on.folder.interaction(whole.id);
  const after = await on.folder.interaction(next.id);
  expect(rollingHashes(after.messages)).toContain(rollingHashes([...messages, answer]).at(-1));
});

test('the stop sequence is named if the engine names it', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame({ content: 'one' }),
      deltaFrame({}, { finish_reason: 'stop', stop_reason: 'two' }),
    ]),
  );
  const stopped = await client().messages.create({ ...ask, stop_sequences: ['two'] });
  expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two' });
  expect(on.upstream.calls.at(-1)!.body.stop).toEqual(['two']);
});

test('a failure is reported: before the answer by a status, during a stream by an event', async () => {
  on.upstream.script((_, response) => sendFrames(response, [deltaFrame({ content: 'Hel' })], false));
  await expect(client().messages.create(ask)).rejects.toMatchObject({ status: 502, type: 'api_error' });
  await expect(client().messages.stream(ask).finalMessage()).rejects.toMatchObject({ type: 'api_error' });
  await expect(client().messages.countTokens(ask)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});

test('a key at its limit is refused, and an answer that its client abandoned is recorded as far as it was sent', async () => {
  on.upstream.script((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(deltaFrame({ content: 'Hel' }))}\n\n`); // and no more
  });
  const stream = client().messages.stream(ask);
  stream.on('error', () => {}); // the loop below leaves the stream
  let id = '';
  for await (const event of stream) {
    if (event.type === 'message_start') id = event.message.id;
    if (event.type !== 'content_block_delta') continue;
    const busy = await client()
      .messages.create(ask)
      .catch((thrown: unknown) => thrown);
    expect(busy).toBeInstanceOf(Anthropic.RateLimitError);
    expect(busy).toMatchObject({ type: 'rate_limit_error' });
    expect((busy as InstanceType<typeof Anthropic.RateLimitError>).headers.get('retry-after')).toBe('1');
    break;
  }
  const fact = await until('the fact', async () => (await facts()).find((event) => event.id === id));
  expect(fact.data).toMatchObject({
    api: 'messages',
    finishReason: 'aborted',
    disconnected: true,
    answer: { role: 'assistant', content: 'Hel' },
  });
  const before = (await facts()).length;
  const stop = new AbortController();
  const calls = on.upstream.calls.length;
  on.upstream.script(() => {}); // says nothing at all
  const waiting = client()
    .messages.create(ask, { signal: stop.signal })
    .catch((thrown: unknown) => thrown);
  await until('it is asked', () => on.upstream.calls.length > calls);
  stop.abort();
  expect(await waiting).toBeInstanceOf(Anthropic.APIUserAbortError);
  const failed = await until('the failure', async () => (await facts())[before]);
  expect(failed).toMatchObject({ type: 'interaction.failed', data: { code: 'client-disconnected' } });
});
