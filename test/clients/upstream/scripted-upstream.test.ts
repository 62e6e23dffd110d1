import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answers, CALLING, COMMAND, SUMMARY, said, TITLE } from '../steps.ts';
import { type ScriptedUpstream, scriptedUpstream } from './scripted-upstream.ts';

// The official clients read the scripted model's answers, in each API.

let upstream: ScriptedUpstream;
let openai: OpenAI;
let anthropic: Anthropic;
beforeEach(async () => {
  upstream = await scriptedUpstream();
  openai = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: upstream.url, apiKey: 'none', maxRetries: 0 });
});
afterEach(() => upstream.close());

const parameters = { type: 'object' as const, properties: { command: { type: 'string' } } };
const call = { command: COMMAND };
const user = (content: string) => [{ role: 'user' as const, content }];

test('chat completions: the words of a step, and a call of the shell', async () => {
  const model = 'clawloop';
  const whole = await openai.chat.completions.create({ model, messages: user(said.praise) });
  expect(whole.choices[0]!.message.content).toBe(answers.praise);
  const stream = openai.chat.completions.stream({
    model,
    messages: user(said.tool),
    tools: [{ type: 'function', function: { name: 'bash', parameters } }],
  });
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0]!;
  expect(finish_reason).toBe('tool_calls');
  expect(message.content).toBe(CALLING);
  expect(message.tool_calls).toMatchObject([
    { type: 'function', function: { name: 'bash', arguments: JSON.stringify(call) } },
  ]);
});

test('Messages: the same', async () => {
  const ask = { model: 'clawloop', max_tokens: 100 };
  const whole = await anthropic.messages.create({ ...ask, messages: user(said.praise) });
  expect(whole.content).toMatchObject([{ type: 'text', text: answers.praise }]);
  const tools = [{ name: 'Bash', input_schema: parameters }];
  const streamed = await anthropic.messages
    .stream({ ...ask, messages: user(said.tool), tools })
    .finalMessage();
  expect(streamed.stop_reason).toBe('tool_use');
  expect(streamed.content).toMatchObject([{ text: CALLING }, { name: 'Bash', input: call }]);
});

test('Responses: the same', async () => {
  const model = 'clawloop';
  const whole = await openai.responses.create({ model, input: said.praise });
  expect(whole.output_text).toBe(answers.praise);
  const tools = [{ type: 'function' as const, name: 'exec_command', parameters, strict: false }];
  const streamed = await openai.responses.stream({ model, input: said.tool, tools }).finalResponse();
  expect(streamed.output_text).toBe(CALLING);
  const called = streamed.output.find(({ type }) => type === 'function_call');
  expect(called).toMatchObject({ name: 'exec_command', arguments: JSON.stringify(call) });
});

test('titles, summaries and the stopped answer are distinguished from the conversation', async () => {
  const ask = async (...messages: OpenAI.ChatCompletionMessageParam[]) =>
    (await openai.chat.completions.create({ model: 'clawloop', messages })).choices[0]!.message.content;
  const [question] = user(said.question);
  expect(await ask({ role: 'system', content: 'You are a title generator.' }, question!)).toBe(TITLE);
  const checkpoint = 'You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary.';
  expect(await ask(question!, ...user(checkpoint))).toContain(SUMMARY);
  const stream = openai.chat.completions.stream({ model: 'clawloop', messages: user(said.stopped) });
  for await (const _ of stream) break;
  expect(await ask(...user(said.again))).toBe(answers.again);
  expect(upstream.served.map(({ reply }) => reply.kind)).toEqual([
    'title',
    'compaction',
    'conversation',
    'conversation',
  ]);
});
