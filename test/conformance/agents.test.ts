import { Agent, handoff, MemorySession, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { until } from '../e2e/harness/clawloop.ts';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import { attributedCalls } from './attributed-calls.ts';
import { type Brain, failingFirst, latest, textOf, think } from './scripted-model.ts';

// OpenAI's agents SDK, unmodified: agents that call tools, by both of its kinds of model.

const on = servingOnScript(givesTokens);

const celsius: Readonly<Record<string, number>> = { Zurich: 4, Lisbon: 19 };
const getWeather = tool({
  name: 'get_weather',
  description: 'The temperature of a city',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => {
    if (celsius[city] === undefined) throw new Error(`no station in ${city}`);
    return `${celsius[city]} degrees`;
  },
});
/** Reasons, and calls for the weather of every named city; then answers with the results. */
const weatherman: Brain = (messages) => {
  const came = latest(messages);
  const results = came.filter(({ role }) => role === 'tool');
  if (results.length > 0) return { text: `I see: ${results.map(textOf).join(', ')}` };
  const cities = textOf(came.at(-1)!).match(/\b(Zurich|Lisbon|Atlantis)\b/g) ?? [];
  if (cities.length === 0) return { text: 'You are welcome.' };
  const calls = cities.map((city) => ['get_weather', { city }] as const);
  return { reasoning: 'Let me look.', calls };
};

describe.each([
  ['responses', true],
  ['chat', false],
] as const)('by %s', (api, useResponses) => {
  const agent = new Agent({ name: 'Weatherman', instructions: 'Tell the weather.', tools: [getWeather] });
  const runner = (maxRetries = 0, apiKey = 'none') =>
    new Runner({
      modelProvider: new OpenAIProvider({
        openAIClient: new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey, maxRetries }),
        useResponses,
      }),
      model: 'clawloop',
      tracingDisabled: true,
    });

  test.each([
    ['whole', false],
    ['streamed', true],
  ] as const)('a conversation of several turns with calls is one session, %s', async (how, stream) => {
    think(on.upstream, weatherman);
    const session = new MemorySession();
    const mark = `${api} ${how}`;
    const said: unknown[] = [];
    const requests: number[] = [];
    for (const words of [`Is it warm in Zurich? (${mark})`, 'And in Zurich and Lisbon?', 'Thanks!']) {
      if (stream) {
        const result = await runner().run(agent, words, { session, stream: true });
        let text = '';
        for await (const part of result.toTextStream()) text += part;
        await result.completed;
        expect(text).toBe(result.finalOutput);
        said.push(result.finalOutput);
        requests.push(result.state.usage.requests);
      } else {
        const result = await runner().run(agent, words, { session });
        said.push(result.finalOutput);
        requests.push(result.state.usage.requests);
        expect(result.state.usage.inputTokens).toBe(
          result.rawResponses.reduce((sum, { usage }) => sum + usage.inputTokens, 0),
        );
        expect(result.state.usage.outputTokens).toBeGreaterThan(0);
      }
    }
    expect(said).toEqual(['I see: 4 degrees', 'I see: 4 degrees, 19 degrees', 'You are welcome.']);
    expect(requests).toEqual([2, 2, 1]);

    const calls = await attributedCalls(on.folder, mark);
    expect(calls).toHaveLength(5);
    expect(new Set(calls.map((call) => call.session)).size).toBe(1);
    expect(calls.map(({ skipped }) => skipped)).toEqual(Array(5).fill(undefined));
    expect(calls.map(({ next }) => next?.map(({ role }) => role))).toEqual([
      ['tool'],
      ['user'],
      ['tool', 'tool'],
      ['user'],
      undefined,
    ]);
    expect(calls[2]!.next!.map(({ content }) => content)).toEqual(['4 degrees', '19 degrees']);
    expect(calls[0]!.data.api).toBe(api);
  });

  test('a handover to another agent stays in the session', async () => {
    think(on.upstream, (messages) => {
      const came = latest(messages);
      const system = textOf(messages[0]!);
      if (system.includes('front desk')) return { calls: [['transfer_to_Weatherman', {}]] };
      return came.length === 1 && textOf(came[0]!).includes('assistant')
        ? { calls: [['get_weather', { city: 'Lisbon' }]] }
        : weatherman(messages);
    });
    const desk = new Agent({
      name: 'Desk',
      instructions: 'You are the front desk.',
      handoffs: [handoff(agent)],
    });
    const words = `Who knows whether it is warm in Lisbon? (${api})`;
    const session = new MemorySession();
    for (const said of [words, 'And in Lisbon tomorrow?']) {
      const result = await runner().run(desk, said, { session });
      expect(result.lastAgent?.name).toBe('Weatherman');
      expect(result.finalOutput).toBe('I see: 19 degrees');
    }
    const calls = await attributedCalls(on.folder, words);
    expect(calls.map(({ next }) => next?.map(({ role }) => role))).toEqual([
      ['tool'],
      ['tool'],
      ['user'],
      ['tool'],
      ['tool'],
      undefined,
    ]);
    expect(new Set(calls.map((call) => call.session)).size).toBe(1);
  });

  test("a tool's error is the next state", async () => {
    think(on.upstream, weatherman);
    const words = `Is it warm in Atlantis? (${api})`;
    const result = await runner().run(agent, words);
    expect(result.finalOutput).toContain('I see: An error occurred');
    const [first] = await attributedCalls(on.folder, words);
    expect(textOf(first!.next![0]!)).toContain('An error occurred');
  });

  test('a required call, and one call at a time', async () => {
    think(on.upstream, weatherman);
    const words = `Zurich or Lisbon? (${api}, one by one)`;
    const strict = agent.clone({ modelSettings: { toolChoice: 'required', parallelToolCalls: false } });
    const result = await runner().run(strict, words);
    expect(result.newItems.filter(({ type }) => type === 'tool_call_item')).toHaveLength(1);
    const bodies = on.upstream.calls
      .map(({ body }) => body)
      .filter((body) => JSON.stringify(body).includes(words));
    expect(bodies[0]).toMatchObject({
      parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
  });

  test('the engine is asked for an answer in the given format', async () => {
    think(on.upstream, () => ({ text: '{"city": "Zurich"}' }));
    const formed = new Agent({ name: 'Formed', outputType: z.object({ city: z.string() }) });
    expect((await runner().run(formed, 'Where?')).finalOutput).toEqual({ city: 'Zurich' });
    expect(on.upstream.calls.at(-1)!.body).toMatchObject({
      response_format: {
        type: 'json_schema',
        json_schema: {
          schema: { properties: { city: { type: 'string' } }, required: ['city'] },
          strict: true,
        },
      },
    });
  });

  test('a failure is reported, and a client that retries does so after Retry-After', async () => {
    think(on.upstream, failingFirst(weatherman, { status: 500 }));
    await expect(runner().run(agent, 'hi')).rejects.toMatchObject({ status: 502 });
    think(on.upstream, failingFirst(weatherman, { status: 500 }, { status: 429, retryAfter: 1 }));
    const words = `Anything in Zurich? (${api}, again)`;
    const before = performance.now();
    expect((await runner(2).run(agent, words)).finalOutput).toBe('I see: 4 degrees');
    expect(performance.now() - before).toBeGreaterThan(990);
    expect(await attributedCalls(on.folder, words)).toHaveLength(2);
  });

  test('a stream that breaks is an error; a stream that its client closes is recorded as far as it was sent', async () => {
    think(on.upstream, () => ({ text: 'Hel', breaks: true }));
    const broken = await runner().run(agent, 'hi', { stream: true });
    await expect(broken.completed).rejects.toThrow();

    think(on.upstream, () => ({ text: 'Hel', hangs: true }));
    const words = `Tell me all. (${api}, left)`;
    const stop = new AbortController();
    const left = await runner().run(agent, words, { stream: true, signal: stop.signal });
    for await (const event of left)
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') stop.abort();
    const [call] = await until('the fact', async () => {
      const calls = await attributedCalls(on.folder, words);
      return calls.length > 0 && calls;
    });
    expect(call).toMatchObject({
      skipped: 'aborted',
      data: { disconnected: true, finishReason: 'aborted', answer: { content: 'Hel' } },
    });
  });
});

test('a conversation that continues by previousResponseId is one session', async () => {
  think(on.upstream, weatherman);
  const agent = new Agent({ name: 'Weatherman', instructions: 'Tell the weather.', tools: [getWeather] });
  const provider = new OpenAIProvider({ openAIClient: on.serving.client, useResponses: true });
  const runner = new Runner({ modelProvider: provider, model: 'clawloop', tracingDisabled: true });
  const first = await runner.run(agent, 'Warm in Zurich? (by id)');
  const second = await runner.run(agent, 'And in Lisbon?', { previousResponseId: first.lastResponseId! });
  expect(second.finalOutput).toBe('I see: 19 degrees');
  const calls = await attributedCalls(on.folder, '(by id)');
  expect(calls.map(({ next }) => next?.map(({ role }) => role))).toEqual([
    ['tool'],
    ['user'],
    ['tool'],
    undefined,
  ]);
  expect(new Set(calls.map((call) => call.session)).size).toBe(1);
});
