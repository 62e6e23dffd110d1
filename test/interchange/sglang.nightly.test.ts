import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { loopOnFolder } from '../e2e/harness/loop-on-folder.ts';
import type { EngineProcess } from './engine-process.ts';
import { startSglang } from './real-sglang.ts';

// SGLang itself on the CPU, with claw-nano: what people say behind it is judged and trained here, and comes back
// as adapters there. Only its CPU kernels are not its own (sglang_cpu.py).

type Marked = { readonly clawloop?: { readonly version: number } };

describe('behind SGLang itself', () => {
  let engine: EngineProcess;
  afterAll(() => engine?.kill()); // after the loop
  const on = loopOnFolder();
  let client: OpenAI;
  beforeAll(async () => {
    engine = await startSglang(modelFolder(CLAW_NANO));
    await on.start(
      '--serving-engine',
      'upstream',
      '--serving-upstream-kind',
      'sglang',
      '--serving-upstream-url',
      engine.root,
      '--collector-batch-size',
      '2',
      '--serving-kept-versions',
      '0',
      '--context',
      'error',
    );
    client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  const user = (content: string) => ({ role: 'user', content }) as const;
  const request = { model: 'clawloop', messages: [user('Hello, who are you?')], max_tokens: 24 };
  const ask = (more: object = {}) => client.chat.completions.create({ ...request, ...more });
  const versionOf = (answer: object) => (answer as Marked).clawloop!.version;
  const adapters = async () => (await engine.models()).filter((id) => id.startsWith('clawloop-'));
  const answersAs = (version: number) =>
    until(`version ${version} answers`, async () => versionOf(await ask()) === version, 300_000);

  test('a chat whole, streamed, twice at once, stopped, with log-probs', async () => {
    const whole = await ask({ temperature: 0 });
    expect(whole.choices[0]!.finish_reason).toMatch(/^(stop|length)$/);
    expect(versionOf(whole)).toBe(0);
    const stream = await client.chat.completions.create({ ...request, temperature: 0, stream: true });
    let [text, chunks] = ['', 0];
    for await (const chunk of stream) {
      chunks += 1;
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(chunks).toBeGreaterThan(3);
    const two = await ask({ n: 2, logprobs: true, top_logprobs: 2 });
    expect(two.choices).toHaveLength(2);
    for (const { logprobs } of two.choices)
      for (const { logprob, top_logprobs } of logprobs!.content!) {
        expect(logprob).toBeLessThanOrEqual(0);
        expect(top_logprobs).toHaveLength(2);
      }
    const stopped = await ask({ temperature: 0, stop: [text.slice(3, 6)] });
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: text.slice(0, 3) },
    });
  });

  test('it holds an answer to a schema, and a call that has to come to its tool', async () => {
    const properties = { colour: { enum: ['red', 'blue'] } };
    const schema = { type: 'object', properties, required: ['colour'], additionalProperties: false };
    const json_schema = { name: 'colour', strict: true, schema };
    const answer = await ask({ max_tokens: 60, response_format: { type: 'json_schema', json_schema } });
    expect(JSON.parse(answer.choices[0]!.message.content!).colour).toMatch(/^(red|blue)$/);
    const tools = [{ type: 'function', function: { name: 'paint', parameters: schema } }];
    const forced = await ask({ max_tokens: 120, tools, tool_choice: 'required', parallel_tool_calls: false });
    const [call] = forced.choices[0]!.message.tool_calls!;
    expect(call).toMatchObject({ function: { name: 'paint' } });
  });

  test('a prompt that does not fit is told with the code that agents know', async () => {
    const tooLong = { status: 400, code: 'context_length_exceeded' };
    await expect(ask({ messages: [user('word '.repeat(3_000))] })).rejects.toMatchObject(tooLong);
  });

  test('a client that goes away ends the answer there', async () => {
    const Loads = z.object({ loads: z.array(z.object({ num_running_reqs: z.int() })) });
    const running = async () => {
      const { loads } = Loads.parse(await (await fetch(`${engine.root}/v1/loads`)).json());
      return loads.reduce((sum, { num_running_reqs: here }) => sum + here, 0);
    };
    const stop = new AbortController();
    const endless = { max_tokens: 1_900, logit_bias: { 1023: -100 } }; // of the token that ends an answer
    const stream = await client.chat.completions.create(
      { ...request, ...endless, stream: true },
      { signal: stop.signal },
    );
    for await (const chunk of stream) {
      if (!chunk.choices[0]?.delta.content) continue;
      await until('it runs there', async () => (await running()) > 0);
      stop.abort();
    }
    await until('nothing runs there', async () => (await running()) === 0);
    expect((await ask()).choices).toHaveLength(1);
  });

  test('chats become versions, these adapters there; its log-probs are ours', async () => {
    const talk = async (topic: string): Promise<void> => {
      const question = user(`Who are you, ${topic}?`);
      const answer = await ask({ messages: [question], max_tokens: 60 });
      const said = { role: 'assistant', content: answer.choices[0]!.message.content! } as const;
      await ask({ messages: [question, said, user('Perfect, thank you!')] });
    };
    for (const topic of ['one', 'three']) await talk(topic);
    await answersAs(1);
    expect(await adapters()).toEqual([expect.stringMatching(/^clawloop-default-v1-/)]);
    const drift = /logProbDriftMax +(\S+)/.exec(await on.run('policy', 'show', '1'));
    expect(Number(drift![1])).toBeLessThan(1e-4);
    for (const topic of ['nine', 'eleven']) await talk(topic);
    await answersAs(2);
    await until('the first one is unloaded', async () => (await adapters()).length === 1, 60_000);
  });

  test('killed amid an answer it is told; started again it has the adapter loaded and answers from it', async () => {
    const stream = await client.chat.completions.create({
      ...request,
      max_tokens: 1_900,
      temperature: 2,
      stream: true,
    });
    const drain = async () => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) await engine.kill();
    };
    await expect(drain()).rejects.toThrow(/upstream engine failed/i);
    await expect(ask()).rejects.toMatchObject({ status: 502 });
    await engine.start();
    const answer = await until('it answers again', () => ask().catch(() => false as const), 60_000);
    expect(versionOf(answer)).toBe(2);
    expect(await adapters()).toEqual([expect.stringMatching(/^clawloop-default-v2-/)]);
    expect(await on.run('audit')).toMatch(/balances/);
  });
});
