import { rm } from 'node:fs/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { loadTokenizer, type Tokenizer } from '../../shared/policy/text/tokenizer.ts';
import { createAccessKey } from '../../shared/runtime/access-keys.ts';
import { type SglangFake, sglangFake } from '../upstream-fakes/sglang.ts';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder, tinyModel } from './serving-process.ts';
import { commitVersion, promote } from './serving-promote.ts';

type Marked = { readonly clawloop?: { readonly version: number } };

describe.each([[false], [true]])('behind SGLang (incremental: %s)', (incremental) => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let sglang: SglangFake;
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await loadTokenizer(tinyModel);
    const { eosTokenIds } = (await openCheckpoint(tinyModel)).generationConfig;
    sglang = await sglangFake({ tokenizer, endId: eosTokenIds[0]!, incremental });
    folder = await servingFolder();
    serving = await folder.start([
      '--engine',
      'upstream',
      '--upstream-kind',
      'sglang',
      '--upstream-url',
      sglang.url,
      '--kept-versions',
      '0',
    ]);
  });
  beforeEach(() => sglang.fault(undefined));
  afterAll(async () => {
    await folder.dispose();
    await sglang.stop();
  });

  const request = { model: 'clawloop', messages: [{ role: 'user', content: 'who are you?' }] } as const;
  const ask = (more: object = {}) =>
    serving.client.chat.completions.create({ ...request, messages: [...request.messages], ...more });
  const factOf = async (id: string) => {
    const found = (await folder.events('conversations')).find((event) => event.id === id);
    return (found as InteractionCompleted).data;
  };
  const tools = [{ type: 'function', function: { name: 'exec', parameters: {} } }] as const;
  const calls = 'Look.<tool_call>\n{"name": "exec", "arguments": {"cmd": "ls"}}\n</tool_call>';

  test('token ids are sent and received, at any temperature and with any filter, and the turns can train', async () => {
    const answer = await ask({ temperature: 0.7, top_p: 0.9, top_k: 20, seed: 4, max_tokens: 90 });
    expect(answer.choices[0]!.message.content).toBe('I am base-model.');
    const { body } = sglang.calls.at(-1)!;
    expect(body).toMatchObject({
      sampling_params: {
        temperature: 0.7,
        top_p: 0.9,
        top_k: 20,
        min_p: 0,
        max_new_tokens: 90,
        sampling_seed: 4,
      },
      return_logprob: true,
    });
    const { tokens, untrainable, sampling } = await factOf(answer.id);
    expect(untrainable).toBeUndefined();
    expect(tokens).toMatchObject({ effectiveTemperature: 0.7, filters: { topP: 0.9, topK: 20 } });
    expect(tokens!.promptIds).toEqual(body.input_ids);
    expect(tokenizer.decode(tokens!.promptIds)).toContain('who are you?');
    expect(tokens!.responseIds.slice(0, -1)).toEqual(tokenizer.encode('I am base-model.'));
    expect(tokens!.logProbs).toHaveLength(tokens!.responseIds.length);
    expect(sampling).toMatchObject({ temperature: 0.7, maxTokens: 90 });
    const greedy = await ask({ temperature: 0.05 });
    expect(sglang.calls.at(-1)!.body).toMatchObject({ sampling_params: { temperature: 0 } });
    const fact = await factOf(greedy.id);
    expect([fact.untrainable, fact.tokens!.greedy]).toEqual([undefined, true]);
  });

  test('its cache is separated by access key', async () => {
    await ask();
    expect(sglang.calls.at(-1)!.body).not.toHaveProperty('extra_key');
    const [ann, bob] = [
      await createAccessKey(folder.data.keys, 'ann'),
      await createAccessKey(folder.data.keys, 'bob'),
    ];
    const saltOf = async (apiKey: string, more: object = {}) => {
      const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey, maxRetries: 0 });
      await client.chat.completions.create({ ...request, messages: [...request.messages], ...more });
      return sglang.calls.at(-1)!.body.extra_key;
    };
    const hers = await saltOf(ann.secret);
    expect(hers).toMatch(/^[\w-]{22}$/);
    expect(await saltOf(ann.secret)).toBe(hers);
    expect(await saltOf(bob.secret)).not.toBe(hers);
    await rm(folder.data.keys);
  });

  test('serving parses calls and reasoning, streamed and whole; a single call ends the answer if only one is allowed', async () => {
    sglang.say(() => calls);
    const answer = await ask({ tools });
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Look.',
        tool_calls: [{ function: { name: 'exec', arguments: '{"cmd": "ls"}' } }],
      },
    });
    sglang.say(() => `${calls}${calls}${'and on '.repeat(200)}`);
    const streamed = await serving.client.chat.completions
      .stream({
        ...request,
        messages: [...request.messages],
        tools: [...tools],
        parallel_tool_calls: false,
      })
      .finalChatCompletion();
    expect(streamed.choices[0]!.message.tool_calls).toHaveLength(1);
    sglang.say((model) => `I am ${model}.`);
    const forced = await ask({ tools, tool_choice: 'required' });
    expect(forced.choices[0]!.message.tool_calls).toHaveLength(1);
    expect(sglang.calls.at(-1)!.path).toBe('/v1/chat/completions');
    expect((await factOf(forced.id)).untrainable).toBe('constrained');
  });

  test('a stop string, a limit, several answers, and log-probs for the client', async () => {
    const stopped = await ask({ stop: ['base'] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'I am ' } });
    const cut = await ask({ max_tokens: 2 });
    expect(cut.choices[0]!.finish_reason).toBe('length');
    const two = await ask({ n: 2, logprobs: true, top_logprobs: 1 });
    expect(two.choices.map(({ message }) => message.content)).toEqual([1, 2].map(() => 'I am base-model.'));
    expect(two.choices[1]!.logprobs!.content!.map(({ token }) => token).join('')).toBe('I am base-model.');
    expect(two.choices[1]!.logprobs!.content![0]!.top_logprobs).toHaveLength(1);
  });

  test('it always keeps 6 tokens of the context free, and a cut prompt leaves them', async () => {
    const long = [{ role: 'user', content: '9'.repeat(1_500) }];
    const { choices } = await ask({ messages: long, max_tokens: 1 });
    expect(choices[0]!.finish_reason).toBe('length');
    const { input_ids: ids, sampling_params: sampling } = sglang.calls.at(-1)!.body as {
      readonly input_ids: readonly number[];
      readonly sampling_params: { readonly max_new_tokens: number };
    };
    expect([ids.length <= 512 - 6, ids.length > 450, sampling.max_new_tokens]).toEqual([true, true, 1]);
  });

  test('an answer with implausible log-probs is sent, but does not train', async () => {
    const reasonOf = async () => (await factOf((await ask()).id)).untrainable;
    sglang.fault({ kind: 'no-log-probs' });
    expect(await reasonOf()).toBe('no-log-probs');
    sglang.fault({ kind: 'other-ids' });
    expect(await reasonOf()).toBe('token-mismatch');
    sglang.fault({ kind: 'new-weights' });
    expect(await reasonOf()).toBe('mixed-versions');
    sglang.fault({ kind: 'abort' });
    expect((await factOf((await ask()).id)).finishReason).toBe('aborted');
  });

  test('an error that arrives as an event is a client error, with the code that agents know', async () => {
    sglang.fault({ kind: 'error-event', message: 'top_p must be in (0, 1], got 7.' });
    await expect(ask()).rejects.toMatchObject({ status: 400, code: 'upstream_refused' });
    sglang.fault({
      kind: 'error-event',
      message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    });
    await expect(ask()).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  test('requests that its scheduler refuses or aborts get a fitting error', async () => {
    const message = 'The request queue is full.';
    sglang.fault({ kind: 'not-taken', status: 503, message });
    await expect(ask()).rejects.toMatchObject({ status: 503, code: 'upstream_unavailable' });
    const long = 'Input length (4095 tokens) exceeds the maximum allowed length (4090 tokens).';
    sglang.fault({ kind: 'not-taken', status: 400, message: long });
    await expect(ask()).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
    sglang.fault({ kind: 'abort', status: 500, message: 'out of memory' });
    const failed = {
      status: 502,
      code: 'upstream_failed',
      message: expect.stringContaining('out of memory'),
    };
    await expect(ask()).rejects.toMatchObject(failed);
  });

  test('serving counts the tokens', async () => {
    const response = await fetch(`${serving.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    const answer = await ask();
    expect(await response.json()).toEqual({ input_tokens: answer.usage!.prompt_tokens });
  });

  test('a new version is an adapter of SGLang, also after a restart without it', async () => {
    const committed = await commitVersion(folder.data.checkpoints('default'), {
      version: 1,
      parent: 0,
      strength: 1,
    });
    await promote(await folder.openLog(), { version: 1, parent: 0, ...committed });
    const name = `clawloop-default-v1-${committed.digest.slice(0, 8)}`;
    await until('it is served', async () => (await serving.metric('clawloop_serving_served_version')) === 1);
    const answer = await ask();
    expect(answer.choices[0]!.message.content).toBe(`I am ${name}.`);
    expect((answer as Marked).clawloop!.version).toBe(1);
    await sglang.restart();
    expect((await ask()).choices[0]!.message.content).toBe(`I am ${name}.`);
    expect(sglang.loadedNames).toEqual([name, name]);
    const base = await ask({ model: '@base' });
    expect(base.choices[0]!.message.content).toBe('I am base-model.');
  });
});
