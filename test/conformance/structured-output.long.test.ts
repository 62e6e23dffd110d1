import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, Output, streamText } from 'ai';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { anySchema } from '../../shared/json-grammar/testing/random-schemas.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// Documents of a schema from claw-nano. The model cannot write JSON, so the guard does all the work.

const on = servingForSuite(['--model', 'claw-nano']);

const Trip = z.object({
  place: z.string().max(12),
  days: z.int().min(1).max(30),
  share: z.number().min(0).max(1),
  season: z.enum(['spring', 'summer', 'autumn', 'winter']),
  packed: z.array(z.string().max(8)).max(3),
  note: z.union([z.string().max(10), z.null()]),
});
const messages = [{ role: 'user', content: 'Where do I go, and what do I pack?' }] as const;
const asked = { model: 'clawloop', messages: [...messages], temperature: 1, max_tokens: 600 };
const trip = zodResponseFormat(Trip, 'trip');

describe('chat completions', () => {
  test.each([1, 2, 3])('parse returns a value of the schema (seed %i)', async (seed) => {
    const answer = await on.serving.client.chat.completions.parse({ ...asked, seed, response_format: trip });
    const [choice] = answer.choices;
    expect(choice!.finish_reason).toBe('stop');
    expect(Trip.parse(choice!.message.parsed)).toEqual(choice!.message.parsed);
    const fact = await on.folder.interaction(answer.id);
    // a string of the document allows too many tokens to record, so a refused token makes the turn untrainable
    expect([fact.untrainable, fact.tokens!.allowed === undefined]).toEqual(
      fact.untrainable === undefined ? [undefined, false] : ['constrained', true],
    );
    expect(fact.tokens!.responseIds).toHaveLength(answer.usage!.completion_tokens);
    expect(fact.tokens!.logProbs.every((value) => value <= 0 && Number.isFinite(value))).toBe(true);
  });

  test('the same request gives the same document, whole or streamed, alone or beside other requests', async () => {
    const one = { ...asked, seed: 7, response_format: trip };
    const free = { ...asked, seed: 7, max_tokens: 40 };
    const text = (answer: OpenAI.Chat.ChatCompletion) => answer.choices[0]!.message.content;
    const { completions } = on.serving.client.chat;
    const alone = text(await completions.create(one));
    const freeAlone = text(await completions.create(free));
    let streamed = '';
    for await (const chunk of await completions.create({ ...one, stream: true }))
      streamed += chunk.choices[0]?.delta.content ?? '';
    expect(streamed).toBe(alone);
    const together = await Promise.all([one, free, one, free].map((body) => completions.create(body)));
    expect(together.map(text)).toEqual([alone, freeAlone, alone, freeAlone]);
  });

  test('json_object gives an object in every choice', async () => {
    const response_format = { type: 'json_object' } as const;
    const answer = await on.serving.client.chat.completions.create({
      ...asked,
      seed: 3,
      n: 3,
      response_format,
    });
    for (const { message, finish_reason } of answer.choices) {
      if (finish_reason === 'length') continue;
      expect(JSON.parse(message.content!)).toBeTypeOf('object');
    }
    expect(answer.choices.some(({ finish_reason }) => finish_reason === 'stop')).toBe(true);
  });

  test('for random schemas, every document fits its schema, at temperature 1', async () => {
    const random = createRandom('documents');
    const schemas = Array.from({ length: 36 }, () => anySchema(random));
    const ends: (string | null)[] = [];
    const answer = async (schema: object, seed: number): Promise<void> => {
      const { choices } = await on.serving.client.chat.completions.create({
        ...asked,
        max_tokens: 300,
        seed,
        response_format: { type: 'json_schema', json_schema: { name: 'any', schema: { ...schema } } },
      });
      const [{ finish_reason, message }] = choices as [OpenAI.Chat.ChatCompletion.Choice];
      ends.push(finish_reason);
      if (finish_reason === 'length') return;
      const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
      const said = `${JSON.stringify(schema)}: ${message.content}`;
      expect(read.safeParse(JSON.parse(message.content!)).success, said).toBe(true);
    };
    for (let at = 0; at < schemas.length; at += 12)
      await Promise.all(schemas.slice(at, at + 12).map((schema, index) => answer(schema, at + index)));
    expect(ends.filter((end) => end === 'stop').length).toBeGreaterThan(30);
  });

  test('max_tokens cuts a document', async () => {
    const answer = await on.serving.client.chat.completions.create({
      ...asked,
      seed: 1,
      response_format: trip,
      max_tokens: 5,
    });
    expect(answer.choices[0]!.finish_reason).toBe('length');
    expect(answer.usage!.completion_tokens).toBe(5);
  });

  test.each([
    ['guided_choice', { guided_choice: ['yes', 'no', 'maybe not'] }, /^(yes|no|maybe not)$/],
    ['guided_regex', { guided_regex: '[A-Z]{2}-\\d{3}' }, /^[A-Z]{2}-\d{3}$/],
    ['structured_outputs', { structured_outputs: { regex: '(é|ü){2}🙂' } }, /^(é|ü){2}🙂$/u],
    ['guided_json', { guided_json: '{"enum": ["😀 ä", "😀 ö"]}' }, /^\s*"😀 [äö]"$/u],
  ] as const)('%s', async (_field, more, expected) => {
    const answer = await on.serving.client.chat.completions.create({ ...asked, seed: 1, ...more });
    expect(answer.choices[0]!.message.content).toMatch(expected);
    expect(answer.choices[0]!.finish_reason).toBe('stop');
  });

  test('a format beside tools: the answer is a document, or a call', async () => {
    const tool = { type: 'function', function: { name: 'look', parameters: {} } } as const;
    const answer = await on.serving.client.chat.completions.create({
      ...asked,
      seed: 2,
      response_format: trip,
      tools: [tool],
      logit_bias: {},
    });
    const { message } = answer.choices[0]!;
    if (message.tool_calls === undefined) Trip.parse(JSON.parse(message.content!));
    const forced = await on.serving.client.chat.completions.create({
      ...asked,
      seed: 2,
      response_format: trip,
      tools: [tool],
      tool_choice: 'required',
    });
    expect(forced.choices[0]!.message.tool_calls).toHaveLength(1);
  });
});

test('a required strict tool is called with arguments that fit its schema', async () => {
  const tools = [
    zodFunction({ name: 'book', parameters: Trip }),
    zodFunction({ name: 'leave', parameters: Trip }),
  ];
  for (const seed of [1, 2]) {
    const answer = await on.serving.client.chat.completions.parse({
      ...asked,
      seed,
      tools,
      tool_choice: 'required',
    });
    const [call] = answer.choices[0]!.message.tool_calls!;
    const called = (call as OpenAI.Chat.ChatCompletionMessageFunctionToolCall).function;
    Trip.parse(JSON.parse(called.arguments));
  }
});

describe('a format that cannot be enforced is refused by name', () => {
  const nested = (levels: number): object =>
    levels === 0 ? {} : { type: 'object', properties: { a: nested(levels - 1) } };
  const chain = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [`a${at}`, { $ref: `#/$defs/a${at + 1}` }]),
  );
  test.each([
    ['a keyword', { not: { type: 'string' } }, /`not`/],
    ['no schema', { type: 'strange' }, /#\/type/],
    ['nothing', { enum: [] }, /#\/enum/],
    ['a schema without values', { type: 'integer', minimum: 3, maximum: 2 }, /no answer/],
    [
      'a document without an end',
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      /no answer/,
    ],
    ['a reference to nothing', { $ref: '#/$defs/none' }, /\$ref/],
    ['a reference elsewhere', { $ref: 'http://127.0.0.1:1/a' }, /\$ref/],
    ['a reference to itself', { $ref: '#' }, /no answer/],
    ['depth', nested(60), /deeper/],
    ['a chain of references', { $ref: '#/$defs/a0', $defs: chain }, /too deep|longer|points to nothing/],
    ['length', { enum: ['x'.repeat(1_000_000)] }, /longer/],
    ['an invalid expression', { type: 'string', pattern: '(' }, /pattern/],
    ['look-arounds', { type: 'string', pattern: '^(?=a)b$' }, /pattern/],
    ['too many repetitions', { type: 'string', pattern: '^(a{1,99999})$' }, /pattern/],
  ] as const)('%s', async (_about, schema, message) => {
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'x', schema: schema as Record<string, unknown> },
    } as const;
    const refused = on.serving.client.chat.completions.create({ ...asked, max_tokens: 20, response_format });
    const error = await refused.then(
      () => undefined,
      (reason: unknown) => reason as InstanceType<typeof OpenAI.APIError>,
    );
    expect(error).toMatchObject({
      status: 400,
      param: 'response_format',
      message: expect.stringMatching(message),
    });
  });

  test.each([
    ['many ways', { guided_regex: '(a{1,100}){1,100}(a|aa)*b' }],
    ['alternatives', { guided_regex: '(a|a|a|a|a|a|a|a)*'.repeat(40) }],
    ['nothing, ever', { guided_regex: '((a*)*)*b{0,10000}' }],
    [
      'a large enum',
      { guided_json: { enum: Array.from({ length: 9_000 }, (_, at) => `value ${at * 7919}`) } },
    ],
    [
      'many branches',
      { guided_json: { anyOf: Array.from({ length: 500 }, (_, at) => ({ const: `b${at}` })) } },
    ],
  ] as const)('and %s neither stop nor delay the server', async (_about, more) => {
    const began = performance.now();
    await on.serving.client.chat.completions.create({ ...asked, max_tokens: 30, ...more }).catch((error) => {
      expect(error.status).toBe(400);
    });
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(on.serving.isAlive()).toBe(true);
  });
});

describe('responses', () => {
  test.each([false, true])('parse returns a value of the schema (streamed: %s)', async (stream) => {
    const { responses } = on.serving.client;
    const request = {
      model: 'clawloop',
      input: 'Where do I go?',
      temperature: 1,
      max_output_tokens: 600,
      text: { format: zodTextFormat(Trip, 'trip') },
    };
    const response = stream
      ? await responses.stream(request).finalResponse()
      : await responses.parse(request);
    expect(response.status).toBe('completed');
    Trip.parse(response.output_parsed);
    expect(response.text!.format).toMatchObject({ type: 'json_schema', name: 'trip' });
    const kept = await responses.retrieve(response.id);
    expect(kept.text!.format).toMatchObject({ type: 'json_schema', name: 'trip' });
  });

  test('a schema that cannot be enforced is refused', async () => {
    const format = { type: 'json_schema', name: 'x', schema: { not: {} } } as const;
    await expect(
      on.serving.client.responses.create({ model: 'clawloop', input: 'hi', text: { format } }),
    ).rejects.toMatchObject({ status: 400, param: 'text.format' });
  });
});

test('Messages of Anthropic: output_config', async () => {
  const client = new Anthropic({ baseURL: on.serving.url, apiKey: 'none', maxRetries: 0 });
  const request = {
    model: 'clawloop',
    max_tokens: 600,
    messages: [...messages],
    temperature: 1,
    output_config: {
      format: { type: 'json_schema', schema: trip.json_schema.schema as Record<string, unknown> },
    },
  } as const;
  const whole = await client.messages.create({ ...request, messages: [...messages] });
  const streamed = await client.messages.stream({ ...request, messages: [...messages] }).finalMessage();
  for (const { content, stop_reason } of [whole, streamed]) {
    expect(stop_reason).toBe('end_turn');
    Trip.parse(JSON.parse((content[0] as Anthropic.TextBlock).text));
  }
});

describe('agents', () => {
  const provider = {
    compatible: () =>
      createOpenAICompatible({
        name: 'clawloop',
        baseURL: `${on.serving.url}/v1`,
        supportsStructuredOutputs: true,
      })('clawloop'),
    openai: () => createOpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none' })('clawloop'),
  };
  test.each(['compatible', 'openai'] as const)("Vercel's SDK by its provider `%s`", async (name) => {
    const request = {
      model: provider[name](),
      prompt: 'Where do I go?',
      temperature: 1,
      maxOutputTokens: 600,
      output: Output.object({ schema: Trip }),
    };
    Trip.parse((await generateText(request)).output);
    Trip.parse(await streamText(request).output);
  });

  test.each([true, false])('@openai/agents with an outputType (by responses: %s)', async (useResponses) => {
    const runner = new Runner({
      modelProvider: new OpenAIProvider({
        openAIClient: new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none', maxRetries: 0 }),
        useResponses,
      }),
      model: 'clawloop',
      tracingDisabled: true,
      modelSettings: { temperature: 1, maxTokens: 600 },
    });
    const agent = new Agent({ name: 'Guide', instructions: 'Plan a trip.', outputType: Trip });
    Trip.parse((await runner.run(agent, 'Where do I go?')).finalOutput);
    const streamed = await runner.run(agent, 'And then?', { stream: true });
    await streamed.completed;
    Trip.parse(streamed.finalOutput);
  });
});
