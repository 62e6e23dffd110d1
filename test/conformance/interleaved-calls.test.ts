import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { beforeAll, expect, test } from 'vitest';
import { servingOnScript } from '../e2e/serving-on-script.ts';
import { deltaFrame, finishFrame, sendFrames } from '../e2e/serving-upstream-double.ts';

// An engine writes two calls side by side, with text between them. The official clients still read them correctly.

const part = (index: number, given: string, more: object = {}) =>
  deltaFrame({ tool_calls: [{ index, ...more, function: { name: undefined, arguments: given } }] });
const first = (index: number, id: string, name: string, given: string) =>
  deltaFrame({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: given } }] });
const frames = [
  first(0, 'call_a', 'look', '{"city":'),
  first(1, 'call_b', 'listen', '{"seconds":'),
  deltaFrame({ content: 'One moment.' }),
  part(1, '4'),
  part(0, '"Oslo"'),
  part(1, '}'),
  part(0, '}'),
  finishFrame('tool_calls'),
];
const on = servingOnScript([], (_, response) => sendFrames(response, frames));
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(() => {
  openai = on.serving.client;
  anthropic = new Anthropic({ baseURL: on.serving.url, apiKey: 'sk-any', maxRetries: 0 });
});

const messages = [{ role: 'user', content: 'look and listen' } as const];
const parameters = { type: 'object', properties: {} } as const;
const names = ['look', 'listen'];

test('in a chat by the index of each call', async () => {
  const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters } }));
  const answer = await openai.chat.completions
    .stream({ model: 'clawloop', messages, tools })
    .finalChatCompletion();
  expect(answer.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      content: 'One moment.',
      tool_calls: [
        { id: 'call_a', function: { name: 'look', arguments: '{"city":"Oslo"}' } },
        { id: 'call_b', function: { name: 'listen', arguments: '{"seconds":4}' } },
      ],
    },
  });
});

test('in a response as one item each, and results that are sent back by item are recognised', async () => {
  const tools = names.map((name) => ({ type: 'function' as const, name, parameters, strict: null }));
  const streamed = await openai.responses
    .stream({ model: 'clawloop', input: 'look and listen', tools })
    .finalResponse();
  const calls = [
    { type: 'function_call', call_id: 'call_a', name: 'look', arguments: '{"city":"Oslo"}' },
    { type: 'function_call', call_id: 'call_b', name: 'listen', arguments: '{"seconds":4}' },
  ];
  expect(streamed.output).toHaveLength(3);
  expect(streamed.output).toMatchObject([
    calls[0],
    calls[1],
    { type: 'message', content: [{ text: 'One moment.' }] },
  ]);
  const whole = await openai.responses.retrieve(streamed.id);
  expect(new Set(whole.output.map(({ id }) => id))).toEqual(new Set(streamed.output.map(({ id }) => id)));
  const references = streamed.output.map(({ id }) => ({ type: 'item_reference' as const, id: id! }));
  await openai.responses.create({
    model: 'clawloop',
    tools,
    input: [
      ...messages,
      ...references,
      { type: 'function_call_output', call_id: 'call_a', output: 'rain' },
      { type: 'function_call_output', call_id: 'call_b', output: 'drops' },
    ],
  });
  expect(on.upstream.calls.at(-1)!.body.messages).toMatchObject([
    messages[0],
    { role: 'assistant', content: 'One moment.', tool_calls: [{ id: 'call_a' }, { id: 'call_b' }] },
    { role: 'tool', tool_call_id: 'call_a' },
    { role: 'tool', tool_call_id: 'call_b' },
  ]);
});

test('in a message as consecutive blocks', async () => {
  const tools = names.map((name) => ({ name, input_schema: parameters }));
  const open = new Set<number>();
  const stream = anthropic.messages.stream({ model: 'clawloop', max_tokens: 50, messages, tools });
  stream.on('streamEvent', (event) => {
    if (event.type === 'content_block_start') open.add(event.index);
    expect(open.size).toBeLessThan(2);
    if (event.type === 'content_block_delta') expect([...open]).toEqual([event.index]);
    if (event.type === 'content_block_stop') open.delete(event.index);
  });
  const message = await stream.finalMessage();
  expect(message.content).toMatchObject([
    { type: 'tool_use', id: 'call_a', name: 'look', input: { city: 'Oslo' } },
    { type: 'tool_use', id: 'call_b', name: 'listen', input: { seconds: 4 } },
    { type: 'text', text: 'One moment.' },
  ]);
  expect(message.stop_reason).toBe('tool_use');
});
