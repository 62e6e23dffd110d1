import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, isStepCount, type ModelMessage, Output, streamText, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { until } from '../e2e/harness/clawloop.ts';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import { attributedCalls } from './attributed-calls.ts';
import { type Brain, failingFirst, latest, textOf, think } from './scripted-model.ts';

// Vercel's AI SDK, unmodified: agents that call tools, by its provider for compatible endpoints and by its provider for
// OpenAI, which uses the Responses API.

const on = servingOnScript(givesTokens);

const compatible = () =>
  createOpenAICompatible({ name: 'clawloop', baseURL: `${on.serving.url}/v1`, includeUsage: true })(
    'clawloop',
  );
const openai = () => createOpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none' })('clawloop');
const prices: Readonly<Record<string, number>> = { apples: 3, pears: 4 };
const tools = {
  price: tool({
    description: 'The price of a kind of fruit',
    inputSchema: z.object({ fruit: z.string() }),
    execute: ({ fruit }) => {
      if (prices[fruit] === undefined) throw new Error(`no ${fruit} today`);
      return { price: prices[fruit] };
    },
  }),
  add: tool({
    description: 'The sum of numbers',
    inputSchema: z.object({ numbers: z.array(z.number()) }),
    execute: ({ numbers }) => numbers.reduce((sum, one) => sum + one, 0),
  }),
};
/** Reasons, asks for all prices at once, adds them up if there are several, and answers with the sum. */
const grocer: Brain = (messages) => {
  const came = latest(messages);
  const fruit = textOf(came.at(-1)!).match(/\b(apples|pears|grapes)\b/g) ?? [];
  if (came.at(-1)!.role !== 'tool')
    return fruit.length === 0
      ? { text: 'Good bye.' }
      : { reasoning: 'Let me see.', calls: fruit.map((one) => ['price', { fruit: one }] as const) };
  const found = came.map((message) => Number(/"price":(\d+)/.exec(textOf(message))?.[1]));
  return found.length > 1
    ? { reasoning: 'Two.', text: 'Adding up.', calls: [['add', { numbers: found }]] }
    : { text: `That is ${textOf(came[0]!)}` };
};
const agent = { system: 'You sell fruit.', tools, stopWhen: isStepCount(5), maxRetries: 0 };

describe.each([
  ['generateText', 'chat', compatible],
  ['streamText', 'chat', compatible],
  ['generateText', 'responses', openai],
  ['streamText', 'responses', openai],
] as const)('%s by %s', (by, api, model) => {
  /** One turn of the conversation, to its end. */
  const say = async (messages: readonly ModelMessage[], more: { readonly maxRetries?: number } = {}) => {
    const asked = { ...agent, ...more, model: model(), messages: [...messages] };
    if (by === 'generateText') {
      const { text, steps, totalUsage, responseMessages } = await generateText(asked);
      return { text, steps, totalUsage, messages: responseMessages };
    }
    const result = streamText({ ...asked, onError: () => {} });
    let text = '';
    for await (const part of result.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'start-step') text = '';
      if (part.type === 'text-delta') text += part.text;
    }
    return {
      text,
      steps: await result.steps,
      totalUsage: await result.totalUsage,
      messages: await result.responseMessages,
    };
  };

  test('an agent of several steps and turns is one session, and results are next states', async () => {
    think(on.upstream, grocer);
    const mark = `by ${by}, ${api}`;
    const history: ModelMessage[] = [];
    const turn = async (content: string) => {
      history.push({ role: 'user', content });
      const answer = await say(history);
      history.push(...answer.messages);
      return answer;
    };
    const first = await turn(`What do apples and pears cost? (${mark})`);
    expect(first.text).toBe('That is 7');
    // for responses, this provider shows only summaries of the reasoning
    expect(first.steps[0]!.reasoningText).toBe(api === 'chat' ? 'Let me see.' : undefined);
    expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop']);
    expect(first.totalUsage.inputTokens).toBe(20 + 50 + 70);
    expect(first.totalUsage.outputTokens).toBeGreaterThan(9);
    expect((await turn('And pears alone?')).text).toBe('That is {"price":4}');
    expect((await turn('Thanks!')).text).toBe('Good bye.');

    const calls = await attributedCalls(on.folder, mark);
    expect(new Set(calls.map((call) => call.session)).size).toBe(1);
    expect(calls.map(({ skipped }) => skipped)).toEqual(Array(6).fill(undefined));
    expect(calls.map(({ next }) => next?.map(({ role }) => role))).toEqual([
      ['tool', 'tool'],
      ['tool'],
      ['user'],
      ['tool'],
      ['user'],
      undefined,
    ]);
    expect(calls[1]!.data.api).toBe(api);
    expect(calls[1]!.data.answer.content).toBe('Adding up.');
    expect(calls[1]!.next![0]!.content).toBe('7');
  });

  test("a tool's error is the next state", async () => {
    think(on.upstream, grocer);
    const words = `What do grapes cost? (${by}, ${api})`;
    const { text } = await say([{ role: 'user', content: words }]);
    expect(text).toContain('no grapes today');
    const [first] = await attributedCalls(on.folder, words);
    expect(textOf(first!.next![0]!)).toContain('no grapes today');
  });

  test('a failure is reported, and retried after Retry-After', async () => {
    think(on.upstream, failingFirst(grocer, { status: 500 }));
    const failure = await say([{ role: 'user', content: 'hi' }]).catch((error: unknown) => error);
    expect(APICallError.isInstance(failure)).toBe(true);
    expect(failure).toMatchObject({ statusCode: 502, isRetryable: true });
    think(on.upstream, failingFirst(grocer, { status: 429, retryAfter: 1 }));
    const words = `And apples? (${by}, ${api}, again)`;
    const before = performance.now();
    const { text } = await say([{ role: 'user', content: words }], { maxRetries: 1 });
    expect(text).toBe('That is {"price":3}');
    expect(performance.now() - before).toBeGreaterThan(990);
    expect(await attributedCalls(on.folder, words)).toHaveLength(2);
  });
});

test('responses that are not stored are sent back in full, and the conversation continues', async () => {
  think(on.upstream, grocer);
  const prompt = 'What do apples and pears cost? (not stored)';
  const providerOptions = { openai: { store: false } };
  const { text } = await generateText({ ...agent, model: openai(), prompt, providerOptions });
  expect(text).toBe('That is 7');
  const calls = await attributedCalls(on.folder, '(not stored)');
  expect(new Set(calls.map((call) => call.session)).size).toBe(1);
  expect(calls.map(({ next }) => next?.length)).toEqual([2, 1, undefined]);
});

test('a client that keeps only the texts, without calls and results, is recognised', async () => {
  think(on.upstream, grocer);
  const messages: ModelMessage[] = [];
  for (const content of ['What do pears cost? (words alone)', 'And apples and grapes?', 'Thanks!']) {
    messages.push({ role: 'user', content });
    const { text } = await generateText({ ...agent, model: compatible(), messages });
    messages.push({ role: 'assistant', content: text });
  }
  const calls = await attributedCalls(on.folder, '(words alone)');
  expect(new Set(calls.map((call) => call.session)).size).toBe(1);
  expect(calls.map(({ next }) => next?.map(({ role }) => role))).toEqual([
    ['tool'],
    ['user'],
    ['tool', 'tool'],
    ['tool'],
    ['user'],
    undefined,
  ]);
});

test('a stream that breaks reports it; a stream that its client closes is recorded as far as it was sent', async () => {
  think(on.upstream, () => ({ text: 'Hel', breaks: true }));
  const errors: unknown[] = [];
  const broken = streamText({
    ...agent,
    model: compatible(),
    prompt: 'hi',
    onError: ({ error }) => void errors.push(error),
  });
  await broken.consumeStream();
  expect(errors).toHaveLength(1);

  think(on.upstream, () => ({ text: 'Hel', hangs: true }));
  const stop = new AbortController();
  const prompt = 'Tell me all. (left)';
  const left = streamText({ ...agent, model: compatible(), prompt, abortSignal: stop.signal });
  for await (const part of left.fullStream) if (part.type === 'text-delta') stop.abort();
  const [call] = await until('the fact', async () => {
    const calls = await attributedCalls(on.folder, prompt);
    return calls.length > 0 && calls;
  });
  expect(call).toMatchObject({
    skipped: 'aborted',
    data: { disconnected: true, finishReason: 'aborted', answer: { content: 'Hel' } },
  });
});

test('a required call is requested, and settings arrive', async () => {
  think(on.upstream, grocer);
  const asked = {
    model: compatible(),
    prompt: 'apples',
    temperature: 1,
    topP: 0.9,
    seed: 3,
    maxOutputTokens: 77,
  };
  const { toolCalls } = await generateText({
    ...asked,
    tools,
    toolChoice: { type: 'tool', toolName: 'price' },
  });
  expect(toolCalls).toMatchObject([{ toolName: 'price', input: { fruit: 'apples' } }]);
  expect(on.upstream.calls.at(-1)!.body).toMatchObject({
    temperature: 1,
    top_p: 0.9,
    seed: 3,
    max_tokens: 77,
    tool_choice: { type: 'function', function: { name: 'price' } },
  });
});

test.each([
  ['compatible', compatible],
  ['openai', openai],
])('the engine is asked for an object in the given format, by the provider %s', async (_name, model) => {
  think(on.upstream, () => ({ text: '{"fruit": "pears"}' }));
  const output = Output.object({ schema: z.object({ fruit: z.string() }) });
  const answer = await generateText({ model: model(), prompt: 'Which?', output });
  expect(answer.output).toEqual({ fruit: 'pears' });
  expect(on.upstream.calls.at(-1)!.body).toMatchObject({
    response_format: { type: expect.stringMatching(/^json/) },
  });
});
