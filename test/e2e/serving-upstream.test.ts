import { expect, test } from 'vitest';
import { newTraceId, spanIdOf } from '../../shared/tracing/trace-context.ts';
import { until } from './harness/clawloop.ts';
import { givesTokens, servingOnScript } from './serving-on-script.ts';
import { deltaFrame, finishFrame, sendFrames, usageFrame } from './serving-upstream-double.ts';

/** Nothing listens at this address, because an unavailable receiver of traces must not disturb a chat. */
const NOBODY = 'http://127.0.0.1:9';
const on = servingOnScript(
  [
    ...givesTokens,
    '--upstream-api-key',
    'secret',
    '--upstream-model',
    'their-name',
    '--otlp-endpoint',
    NOBODY,
  ],
  (_, response) => void response.writeHead(500).end(),
);

const logprobs = (...tokens: readonly (readonly [string, number])[]) => ({
  content: tokens.map(([token, logprob]) => ({ token, logprob, top_logprobs: [] })),
});
const ask = (more: object = {}) =>
  on.serving.client.chat.completions.create({
    model: 'clawloop',
    messages: [{ role: 'user', content: 'hi' }],
    temperature: 1,
    ...more,
  });

test('an answer with token ids and raw log-probs can train', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame({ role: 'assistant', content: '' }, {}, { prompt_token_ids: [5, 6, 7] }),
      deltaFrame({ content: 'Hel' }, { token_ids: [1], logprobs: logprobs(['Hel', -0.5]) }),
      deltaFrame({ content: 'lo' }, { token_ids: [2], logprobs: logprobs(['lo', -0.25]) }),
      deltaFrame({}, { token_ids: [3], logprobs: logprobs(['<|im_end|>', -0.125]), finish_reason: 'stop' }),
      usageFrame(3, 3),
    ]),
  );
  const answer = await ask({ seed: 5, max_tokens: 9 });
  expect(answer.choices[0]!.message.content).toBe('Hello');
  expect(answer.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 3 });
  const { body, headers } = on.upstream.calls.at(-1)!;
  expect(headers.authorization).toBe('Bearer secret');
  expect(body).toMatchObject({
    model: 'their-name',
    messages: [{ role: 'user', content: 'hi' }],
    temperature: 1,
    seed: 5,
    max_tokens: 9,
    stream: true,
    logprobs: true,
    return_token_ids: true,
  });
  // the engine's spans join the trace below the request's own span
  expect(headers.traceparent).toBe(`00-${newTraceId(answer.id)}-${spanIdOf(answer.id)}-01`);
  const data = await on.folder.interaction(answer.id);
  expect(data).toMatchObject({
    engine: 'upstream',
    version: 0,
    tokens: {
      promptIds: [5, 6, 7],
      responseIds: [1, 2, 3],
      logProbs: [-0.5, -0.25, -0.125],
      effectiveTemperature: 1,
    },
  });
  expect(data.untrainable).toBeUndefined();
});

test('missing values are not filled in; the reason is named', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'Hello' }), finishFrame('stop')]),
  );
  const without = await ask();
  expect(await on.folder.interaction(without.id)).toMatchObject({
    tokens: null,
    untrainable: 'no-token-ids',
  });
  on.upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame(
        { content: 'Hello' },
        { token_ids: [1, 2], logprobs: logprobs(['Hello', -1]) },
        { prompt_token_ids: [5] },
      ),
      finishFrame('stop'),
    ]),
  );
  const fewer = await ask();
  expect(await on.folder.interaction(fewer.id)).toMatchObject({ tokens: null, untrainable: 'no-log-probs' });
  on.upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame(
        { content: 'Hello' },
        { token_ids: [1], logprobs: logprobs(['Hello', -1]) },
        { prompt_token_ids: [5] },
      ),
      finishFrame('stop'),
    ]),
  );
  const other = await ask({ temperature: 0.7 });
  expect((await on.folder.interaction(other.id)).untrainable).toBe('logprob-temperature');
});

test('tool calls and reasoning are passed on', async () => {
  on.upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame({ reasoning_content: 'Let me look.' }),
      deltaFrame({
        tool_calls: [{ index: 0, id: 'call_7', type: 'function', function: { name: 'exec', arguments: '' } }],
      }),
      deltaFrame({ tool_calls: [{ index: 0, function: { arguments: '{"cmd":' } }] }),
      deltaFrame({ tool_calls: [{ index: 0, function: { arguments: '"ls"}' } }] }),
      finishFrame('tool_calls'),
    ]),
  );
  const tools = [{ type: 'function', function: { name: 'exec', parameters: {} } }] as const;
  const answer = await ask({ tools });
  expect(answer.choices[0]!.finish_reason).toBe('tool_calls');
  expect(answer.choices[0]!.message).toMatchObject({
    content: null,
    reasoning_content: 'Let me look.',
    tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'exec', arguments: '{"cmd":"ls"}' } }],
  });
  expect(on.upstream.calls.at(-1)!.body.tools).toEqual(tools);
});

test('a refusal of the engine is a client error; its failure is a server error and is recorded', async () => {
  const failed = async () =>
    (await on.folder.events('conversations')).filter(({ type }) => type === 'interaction.failed').length;
  const refuse = (status: number, headers = {}) =>
    on.upstream.script(
      (_, response) =>
        void response
          .writeHead(status, headers)
          .end(JSON.stringify({ error: { message: 'no, for a reason' } })),
    );
  const before = await failed();
  refuse(400);
  await expect(ask()).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('for a reason'),
  });
  refuse(429, { 'retry-after': '7' });
  await expect(ask()).rejects.toMatchObject({ status: 429, type: 'rate_limit_error' });
  expect(await failed()).toBe(before);
  refuse(401);
  await expect(ask()).rejects.toMatchObject({ status: 502, type: 'server_error' });
  refuse(503, { 'retry-after': '3' });
  await expect(ask()).rejects.toMatchObject({ status: 503, code: 'upstream_unavailable' });
  on.upstream.script((_, response) => void response.destroy());
  await expect(ask()).rejects.toMatchObject({ status: 502 });
  on.upstream.script((_, response) => sendFrames(response, [deltaFrame({ content: 'Hel' })]));
  await expect(ask()).rejects.toMatchObject({
    status: 502,
    message: expect.stringContaining('finish_reason'),
  });
  on.upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'Hel' }), { error: { message: 'out of memory' } }]),
  );
  const stream = await on.serving.client.chat.completions.create({
    model: 'clawloop',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  });
  const drain = async () => {
    for await (const _ of stream);
  };
  await expect(drain()).rejects.toThrow(/out of memory/);
  expect(await failed()).toBe(before + 5);
});

test('a disconnect ends the request to the engine', async () => {
  on.upstream.script(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(deltaFrame({ content: 'Once' }))}\n\n`);
  });
  const stop = new AbortController();
  const stream = await on.serving.client.chat.completions.create(
    { model: 'clawloop', messages: [{ role: 'user', content: 'hi' }], stream: true },
    { signal: stop.signal },
  );
  let id = '';
  for await (const chunk of stream) {
    id = chunk.id;
    if (chunk.choices[0]?.delta.content) stop.abort();
  }
  await until('the request upstream ended', () => on.upstream.aborted() > 0);
  const data = await until('the fact', () => on.folder.interaction(id).catch(() => undefined));
  expect(data).toMatchObject({ finishReason: 'aborted', disconnected: true, answer: { content: 'Once' } });
});
