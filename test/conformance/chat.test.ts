import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { type ServingFolder, type ServingProcess, servingFolder, tinyModel } from '../e2e/serving-process.ts';

// Chat completions of a small model with random weights, as OpenAI's own client receives them.

const tool = (name: string) =>
  ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  }) as const;
const tools = [tool('get_weather'), tool('get_time')];
const messages = [{ role: 'user', content: 'How warm is it in Zurich?' }] as const;
type Request = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
const request = (more: Partial<Request> = {}): Request => ({
  model: 'clawloop',
  messages: [...messages],
  tools,
  ...more,
});

describe('chat completions with the official client', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let client: OpenAI;
  /** Makes the model write braces instead of its own choice. */
  let braces: Readonly<Record<string, number>>;
  beforeAll(async () => {
    folder = await servingFolder();
    serving = await folder.start();
    client = serving.client;
    const tokenizer = await loadTokenizer(tinyModel);
    braces = Object.fromEntries(['{', '}'].flatMap((text) => tokenizer.encode(text)).map((id) => [id, 100]));
  });
  afterAll(() => folder.dispose());
  const factOf = async (id: string) =>
    (await folder.events('conversations')).find((event) => event.id === id)!
      .data as InteractionCompleted['data'];

  test.each([
    ['required', 'required'],
    ['a named function', { type: 'function', function: { name: 'get_time' } }],
    [
      'one of the allowed tools',
      { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('get_time')] } },
    ],
  ] as const)(
    'tool_choice %s: the answer is a call, even if the model prefers text',
    async (_about, choice) => {
      const answer = await client.chat.completions.create(
        request({ tool_choice: choice as never, logit_bias: braces, max_tokens: 60, temperature: 0 }),
      );
      const { message, finish_reason } = answer.choices[0]!;
      expect(finish_reason).toBe('tool_calls');
      expect(message.content).toBeNull();
      const [call, ...others] = message.tool_calls as OpenAI.Chat.ChatCompletionMessageFunctionToolCall[];
      expect(others).toEqual([]);
      expect(call).toMatchObject({ id: expect.stringMatching(/^call_/), type: 'function' });
      expect(JSON.parse(call!.function.arguments)).toEqual({});
      expect(choice === 'required' ? ['get_weather', 'get_time'] : ['get_time']).toContain(
        call!.function.name,
      );
    },
  );

  test('a forced call that is cut off is still a call, with the tokens that were allowed', async () => {
    const choice = { type: 'function', function: { name: 'get_weather' } } as const;
    const asked = request({ tool_choice: choice, max_tokens: 9, temperature: 1, seed: 5 });
    const whole = await client.chat.completions.create(asked);
    const fact = await factOf(whole.id);
    expect(fact.untrainable).toBeUndefined();
    for (const { at, ids } of fact.tokens!.allowed!) expect(ids).toContain(fact.tokens!.responseIds[at]);
    expect(fact.tokens!.responseIds).toHaveLength(whole.usage!.completion_tokens);
    const { message, finish_reason } = whole.choices[0]!;
    expect(finish_reason).toBe('length');
    const called = (message.tool_calls![0] as OpenAI.Chat.ChatCompletionMessageFunctionToolCall).function;
    expect(called).toMatchObject({ name: 'get_weather', arguments: expect.stringMatching(/^\{/) });
    const deltas: OpenAI.Chat.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true }))
      deltas.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.every(({ index }) => index === 0)).toBe(true);
    expect(deltas.map((delta) => delta.id).filter(Boolean)).toHaveLength(1);
    expect(deltas.map((delta) => delta.function!.name ?? '').join('')).toBe('get_weather');
    expect(deltas.map((delta) => delta.function!.arguments ?? '').join('')).toBe(called.arguments);
  });

  test('tool_choice none: the policy is shown no tools', async () => {
    const prompt = async (more: Partial<Request>) =>
      (await client.chat.completions.create(request({ max_tokens: 1, ...more }))).usage!.prompt_tokens;
    expect(await prompt({ tool_choice: 'none' })).toBeLessThan(await prompt({ tool_choice: 'auto' }));
  });

  test('there is one log-prob per token, the likeliest alternatives first', async () => {
    const { choices } = await client.chat.completions.create({
      model: 'clawloop',
      messages: [...messages],
      max_tokens: 5,
      temperature: 0,
      logprobs: true,
      top_logprobs: 3,
    });
    const { content } = choices[0]!.logprobs!;
    expect(content!.length).toBeGreaterThan(0);
    for (const { token, logprob, top_logprobs } of content!) {
      expect(top_logprobs).toHaveLength(3);
      expect(top_logprobs[0]).toMatchObject({ token, logprob }); // greedy
      const found = top_logprobs.map((one) => one.logprob);
      expect(found).toEqual(found.toSorted((one, other) => other - one));
    }
  });

  test.each([
    [{ response_format: { type: 'structural_tag' } }, 'response_format'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ tool_choice: 'required', tools: [] }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'fly' } } }, 'tool_choice'],
    [{ modalities: ['audio'] }, 'modalities'],
    [{ functions: [{ name: 'x' }] }, 'functions'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
  ])('%j is refused, and the error names the field', async (more, param) => {
    const failure = await client.chat.completions.create(request(more as Partial<Request>)).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({ status: 400, param, type: 'invalid_request_error' });
  });

  test('unsupported fields with a harmless value are accepted', async () => {
    const answer = await client.chat.completions.create(
      request({
        response_format: { type: 'text' },
        modalities: ['text'],
        store: true,
        user: 'ann',
        max_tokens: 2,
        metadata: { a: 'b' },
        service_tier: 'auto',
        reasoning_effort: 'low',
        verbosity: 'low',
      }),
    );
    expect(answer.object).toBe('chat.completion');
    expect((await factOf(answer.id)).user).toBe('ann');
  });
});
