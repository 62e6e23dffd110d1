import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { until } from '../e2e/harness/clawloop.ts';
import { servingOnScript } from '../e2e/serving-on-script.ts';
import { deltaFrame, finishFrame, sendFrames, usageFrame } from '../e2e/serving-upstream-double.ts';

// OpenAI's own client and its Responses API against a scripted engine.

const on = servingOnScript();

test('thoughts, text and calls are items, and are sent back as one answer', async () => {
  on.upstream.script((_, response) =>
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
    model: 'clawloop',
    input: 'list',
    tools: [{ type: 'function', name: 'exec', description: 'Runs', parameters, strict: null }],
  };
  const whole = await on.serving.client.responses.create(request);
  const { stream: _, ...streaming } = request;
  const streamed = await on.serving.client.responses.stream(streaming).finalResponse();
  for (const response of [whole, streamed]) {
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me look.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Looking' }] },
      { type: 'function_call', call_id: 'call_7', name: 'exec', arguments: '{"cmd":"ls"}' },
    ]);
    expect(response.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  }
  expect(on.upstream.calls.at(-1)!.body.tools).toEqual([
    { type: 'function', function: { name: 'exec', description: 'Runs', parameters } },
  ]);
  on.upstream.script((_, response) =>
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
  await on.serving.client.responses.create({ ...request, previous_response_id: whole.id, input: [output] });
  expect(on.upstream.calls.at(-1)!.body.messages).toMatchObject(asked);
  const items = whole.output as OpenAI.Responses.ResponseInputItem[];
  const input = [{ role: 'user', content: 'list' } as const, ...items, output];
  await on.serving.client.responses.create({ ...request, input });
  expect(on.upstream.calls.at(-1)!.body.messages).toMatchObject(asked);
});

test('a failure is reported, and an answer that its client abandoned is recorded as far as it was sent', async () => {
  on.upstream.script((_, response) => sendFrames(response, [deltaFrame({ content: 'Hel' })], false));
  const ask = { model: 'clawloop', input: 'go' };
  await expect(on.serving.client.responses.create(ask)).rejects.toMatchObject({ status: 502 });
  const types: string[] = [];
  for await (const event of await on.serving.client.responses.create({ ...ask, stream: true })) {
    types.push(event.type);
    if (event.type === 'response.failed') expect(event.response.error!.message).toContain('upstream');
  }
  expect(types.at(-1)).toBe('response.failed');
  on.upstream.script((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(deltaFrame({ content: 'Hel' }))}\n\n`); // and no more
  });
  let id = '';
  for await (const event of await on.serving.client.responses.create({ ...ask, stream: true })) {
    if (event.type === 'response.created') id = event.response.id;
    if (event.type === 'response.output_text.delta') break;
  }
  const fact = await until('the fact', () => on.folder.interaction(id).catch(() => undefined));
  expect(fact).toMatchObject({ finishReason: 'aborted', disconnected: true, answer: { content: 'Hel' } });
});
