import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { loadPromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import { referencePath } from '../../shared/policy/reference-fixtures.ts';
import { until } from './harness/clawloop.ts';
import { describeWith, type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
type Marked = { readonly clawloop?: { readonly version: number; readonly recorded: boolean } };

describeWith('policy/models/qwen3-tiny')('serving, as the official client sees it', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let client: OpenAI;
  beforeAll(async () => {
    folder = await servingFolder();
    serving = await folder.start(['--backend', 'auto', '--max-body-bytes', '5000000']);
    client = serving.client;
  });
  afterAll(() => folder.dispose());

  const writeAgain = async (messages: readonly ChatMessage[]): Promise<readonly number[]> => {
    const write = await loadPromptWriter(referencePath('models/qwen3-tiny'));
    return write({ messages, tools: [], variables: {} });
  };
  const interaction = async (id: string): Promise<InteractionCompleted['data']> => {
    const events = await folder.events('conversations');
    const found = events.find((event) => event.id === id);
    if (found?.type !== 'interaction.completed') throw new Error(`${id} was not recorded`);
    return found.data;
  };

  test('an answer comes whole, and its fact holds what was sampled', async () => {
    const { data: answer, response } = await client.chat.completions
      .create({ model: 'qwen3-4b', messages: [user('hello')], max_tokens: 8, temperature: 0.8 })
      .withResponse();
    expect(answer.object).toBe('chat.completion');
    expect(answer.usage!.total_tokens).toBe(answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
    expect((answer as Marked).clawloop).toEqual({ version: 0, recorded: true });
    expect(response.headers.get('x-clawloop-version')).toBe('0');
    const fact = await interaction(answer.id);
    expect(fact).toMatchObject({
      live: true,
      version: 0,
      engine: 'local',
      model: 'qwen3-4b',
      messages: [user('hello')],
      answer: { role: 'assistant', content: answer.choices[0]!.message.content },
      sampling: { temperature: 0.8, topP: 0.8, topK: 20, maxTokens: 8 },
      finishReason: answer.choices[0]!.finish_reason,
      disconnected: false,
    });
    expect(fact.tokens!.responseIds).toHaveLength(answer.usage!.completion_tokens);
    expect(fact.tokens!.logProbs).toHaveLength(answer.usage!.completion_tokens);
    expect(fact.tokens!.promptIds).toHaveLength(answer.usage!.prompt_tokens);
    expect(fact.tokens!.effectiveTemperature).toBe(0.8);
  });

  test('a stream says the same as the whole answer to the same seed', async () => {
    const request = { model: 'clawloop', messages: [user('tell me more')], max_tokens: 24, seed: 7 };
    const whole = await client.chat.completions.create({ ...request, logprobs: true, top_logprobs: 2 });
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      top_logprobs: 2,
    });
    let text = '';
    const logProbs: OpenAI.Chat.ChatCompletionTokenLogprob[] = [];
    const finishes: (string | null)[] = [];
    let last: OpenAI.Chat.ChatCompletionChunk | undefined;
    let mark: Marked['clawloop'];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      logProbs.push(...(chunk.choices[0]?.logprobs?.content ?? []));
      if (chunk.choices[0] !== undefined) finishes.push(chunk.choices[0].finish_reason);
      mark ??= (chunk as Marked).clawloop;
      last = chunk;
    }
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(logProbs).toEqual(whole.choices[0]!.logprobs!.content);
    expect(logProbs.every(({ top_logprobs }) => top_logprobs.length === 2)).toBe(true);
    expect(finishes.slice(0, -1).every((reason) => reason === null)).toBe(true);
    expect(finishes.at(-1)).toBe(whole.choices[0]!.finish_reason);
    expect(last!.choices).toEqual([]);
    expect(last!.usage).toEqual(whole.usage);
    expect(mark).toEqual({ version: 0, recorded: true });
  });

  test('a stop string ends the answer and is not shown', async () => {
    const request = { model: 'clawloop', messages: [user('count')], max_tokens: 40, seed: 3 };
    const free = (await client.chat.completions.create(request)).choices[0]!.message.content!;
    const stop = free.slice(Math.floor(free.length / 2), Math.floor(free.length / 2) + 3);
    const cut = await client.chat.completions.create({ ...request, stop });
    expect(cut.choices[0]!.message.content).toBe(free.slice(0, free.indexOf(stop)));
    expect(cut.choices[0]!.finish_reason).toBe('stop');
  });

  test('max_tokens beyond the context is clamped, and a prompt beyond it is cut; both are recorded', async () => {
    const short = await client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hi')],
      max_completion_tokens: 100_000,
      temperature: 2,
      seed: 1,
    });
    const clamped = await interaction(short.id);
    expect(clamped.sampling.askedMaxTokens).toBe(100_000);
    expect(clamped.sampling.maxTokens).toBe(512 - short.usage!.prompt_tokens);
    const long = await client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'system', content: 'many words '.repeat(400) }, user('the last words stay')],
      max_tokens: 4,
    });
    const cut = await interaction(long.id);
    expect(cut.windowCut!.systemCharacters).toBeGreaterThan(0);
    // what the policy saw can be written again
    const { messages } = cut.templateInput!;
    expect(await writeAgain(messages!)).toEqual(cut.tokens!.promptIds);
    expect(clamped).not.toHaveProperty('templateInput');
    expect(await writeAgain(clamped.messages)).toEqual(clamped.tokens!.promptIds);
    expect(long.usage!.prompt_tokens).toBeLessThanOrEqual(508);
  });

  test('penalties are applied, and make the turn untrainable by name', async () => {
    const answer = await client.chat.completions.create({
      model: 'clawloop',
      messages: [user('again')],
      max_tokens: 6,
      temperature: 0,
      logit_bias: { 65: 100 },
    });
    const fact = await interaction(answer.id);
    expect(fact.tokens!.responseIds).toEqual([65, 65, 65, 65, 65, 65]);
    expect(fact.untrainable).toBe('penalties');
    expect(fact.tokens).toMatchObject({ greedy: true, effectiveTemperature: 1 });
  });

  test('the base policy and pinned versions answer, and are not live', async () => {
    const base = await client.chat.completions.create({
      model: 'clawloop@base',
      messages: [user('hello')],
      max_tokens: 2,
    });
    expect((await interaction(base.id)).live).toBe(false);
    const names = (await client.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(['clawloop', 'clawloop@base']);
    expect((await client.models.retrieve('@base')).id).toBe('@base');
    const missing = client.chat.completions.create({ model: '@v99', messages: [user('hello')] });
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  });

  test('what is refused names its field and leaves no fact', async () => {
    const before = (await folder.events('conversations')).length;
    const refused: readonly (readonly [object, string])[] = [
      [{ best_of: 2 }, 'best_of'],
      [{ response_format: { type: 'json_object' } }, 'response_format'],
      [{ temperature: 3 }, 'temperature'],
      [{ tool_choice: 'required' }, 'tool_choice'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
      [
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
        'messages[0].content[0]',
      ],
    ];
    for (const [change, param] of refused) {
      const body = { model: 'clawloop', messages: [user('hi')], ...change };
      const call = client.chat.completions.create(body as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);
      await expect(call, JSON.stringify(change)).rejects.toMatchObject({ status: 400, param });
    }
    expect((await folder.events('conversations')).length).toBe(before);
  });

  test('what is wrong on the wire is said in the shape of OpenAI', async () => {
    const send = async (path: string, init: RequestInit) => {
      const response = await fetch(`${serving.url}${path}`, init);
      const { error } = (await response.json()) as { error: { code: string } };
      return `${response.status} ${error.code}`;
    };
    const json = { 'content-type': 'application/json' };
    const chat = (init: RequestInit) => send('/v1/chat/completions', { method: 'POST', ...init });
    expect(await chat({ headers: json, body: '{"model":' })).toBe('400 invalid_json');
    expect(await chat({ headers: json, body: '' })).toBe('400 invalid_json');
    expect(await chat({ headers: json, body: '[]' })).toBe('400 invalid_request');
    expect(await chat({ headers: { 'content-type': 'text/plain' }, body: '{}' })).toBe(
      '415 unsupported_media_type',
    );
    expect(await chat({ headers: json, body: `"${'x'.repeat(20_000_000)}"` })).toBe('413 body_too_large');
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PUT'])
      for (const init of [{ method }, { method, headers: json }])
        expect(await send('/v1/chat/completions', init), method).toBe('405 method_not_allowed');
    const refused = await fetch(`${serving.url}/v1/chat/completions?x=1`, {
      method: 'DELETE',
      headers: json,
    });
    expect(refused.headers.get('allow')).toBe('POST');
    const model = await fetch(`${serving.url}/v1/models/@base`, { method: 'POST', headers: json });
    expect([model.status, model.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const response = await fetch(`${serving.url}/v1/responses/resp_1`, { method: 'PUT', headers: json });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE']);
    for (const init of [{ method: 'DELETE' }, { method: 'DELETE', headers: json }])
      expect(await send('/v1/responses/resp_1', init)).toBe('404 response_not_found');
    const ask = (fields: object) =>
      chat({
        headers: json,
        body: JSON.stringify({ model: 'clawloop', messages: [user('hello')], ...fields }),
      });
    expect(await ask({ model: 'clawloop@base@v1' })).toBe('404 model_not_found');
    expect(await ask({ logit_bias: { 999999: 1 } })).toBe('400 invalid_request');
    expect(await send('/v1/embeddings', { method: 'POST' })).toBe('404 route_not_found');
  });

  test('a client that goes away stops its answer, and that is recorded', async () => {
    const stop = new AbortController();
    const stream = await client.chat.completions.create(
      {
        model: 'clawloop',
        messages: [user('a long one')],
        logit_bias: { 1202: -100, 1200: -100 },
        stream: true,
      },
      { signal: stop.signal },
    );
    let id = '';
    for await (const chunk of stream) {
      id = chunk.id;
      if (chunk.choices[0]?.delta.content) stop.abort();
    }
    const fact = await until('the fact', () => interaction(id).catch(() => undefined));
    expect(fact).toMatchObject({ finishReason: 'aborted', disconnected: true });
    expect(fact.tokens!.responseIds.length).toBeLessThan(400);
    expect(
      await until('it stopped', async () => (await serving.metric('clawloop_engine_running')) === 0),
    ).toBe(true);
  });

  test('feedback finds the lane of its answer', async () => {
    const answer = await client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hello')],
      max_tokens: 2,
    });
    const give = (body: object) =>
      fetch(`${serving.url}/v1/feedback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ completion_id: answer.id, ...body }),
      });
    expect((await give({ rating: 'down', comment: 'no lists' })).status).toBe(200);
    expect((await give({ reward: 0.25 })).status).toBe(200);
    for (const bad of [
      {},
      { rating: 'up', reward: 1 },
      { reward: 'NaN' },
      { reward: 1.01 },
      { reward: -2 },
      { rating: 'meh' },
      { reward: 1, completion_id: 'x' },
    ]) {
      expect((await give(bad)).status, JSON.stringify(bad)).toBe(400);
    }
    const events = await folder.events('conversations');
    const given = events.filter((event): event is FeedbackGiven => event.type === 'feedback.given');
    const lane = (await interaction(answer.id)).lane;
    expect(given.map(({ data }) => data)).toMatchObject([
      { interactionId: answer.id, lane, score: -1, comment: 'no lists' },
      { interactionId: answer.id, lane, score: 0.25 },
    ]);
  });

  test('sessions come from headers, and end when told', async () => {
    const answer = await client.chat.completions.create(
      { model: 'clawloop', messages: [user('hello')], max_tokens: 2 },
      { headers: { 'x-session-id': 'chat-a:2', 'x-turn-type': 'main', 'x-session-done': 'true' } },
    );
    const events = await folder.events('conversations');
    const fact = await interaction(answer.id);
    expect(fact).toMatchObject({ session: 'chat-a', turnType: 'main' });
    const end = events.find(({ type }) => type === 'session.ended');
    expect(end!.data).toMatchObject({ session: 'chat-a', lane: fact.lane, reason: 'explicit' });
    const other = await client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hello')],
      max_tokens: 2,
    });
    expect((await interaction(other.id)).lane).not.toBe(fact.lane);
    const response = await fetch(`${serving.url}/v1/sessions/end`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ session: 'chat-a' }),
    });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ object: 'clawloop.session', session: 'chat-a', accepted: true });
  });

  test('eight streams share their steps, and health answers between two chunks', async () => {
    const [steps, moved] = [
      await serving.metric('clawloop_engine_steps'),
      await serving.metric('clawloop_engine_step_sequences'),
    ];
    let open = 8;
    const health: number[] = [];
    const streams = Array.from({ length: 8 }, async (_, index) => {
      const stream = await client.chat.completions.create({
        model: 'clawloop',
        messages: [user(`story ${index}`)],
        max_tokens: 120,
        logit_bias: { 1202: -100, 1200: -100 },
        stream: true,
      });
      let chunks = 0;
      for await (const _ of stream) chunks++;
      open -= 1;
      return chunks;
    });
    while (open > 0) {
      const began = performance.now();
      const response = await fetch(`${serving.url}/healthz`);
      expect(response.status).toBe(200);
      if (open > 0) health.push(performance.now() - began);
    }
    for (const chunks of await Promise.all(streams)) expect(chunks).toBeGreaterThan(10);
    expect(health.length).toBeGreaterThan(2);
    const sharing =
      ((await serving.metric('clawloop_engine_step_sequences')) - moved) /
      ((await serving.metric('clawloop_engine_steps')) - steps);
    expect(sharing).toBeGreaterThan(3);
  });

  test('fifty requests leave no tensor behind', async () => {
    const before = await serving.metric('clawloop_engine_tensors');
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        client.chat.completions.create({
          model: index % 5 === 0 ? '@base' : 'clawloop',
          messages: [user(`request ${index}`)],
          max_tokens: 1 + (index % 7),
        }),
      ).map((call) => call.catch((error: { readonly status?: number }) => expect(error.status).toBe(429))),
    );
    expect(await serving.metric('clawloop_engine_tensors')).toBe(before);
  });
});
