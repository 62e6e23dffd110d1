import { describe, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { until } from './harness/clawloop.ts';
import { givesTokens, servingOnScript } from './serving-on-script.ts';
import { type ServingFolder, servingForSuite } from './serving-process.ts';
import { deltaFrame, finishFrame, sendFrames, usageFrame } from './serving-upstream-double.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
/** In the order of the choices. */
const factsOf = async (folder: ServingFolder, id: string): Promise<readonly InteractionCompleted['data'][]> =>
  (await folder.events('conversations'))
    .filter((event) => event.type === 'interaction.completed')
    .map(({ data }) => data)
    .filter(({ interactionId }) => interactionId.startsWith(id))
    .reverse();

describe('several answers to one request', () => {
  const on = servingForSuite(['--max-batch', '3', '--max-choices', '5', '--max-waiting', '4']);
  const prompt = { model: 'clawloop', messages: [user('tell me of the sea, '.repeat(12))], temperature: 1 };

  test('with a seed, choice 0 is the answer to a request for one, and each has its own', async () => {
    const request = { ...prompt, max_tokens: 12, seed: 11, logprobs: true };
    const one = await on.serving.client.chat.completions.create(request);
    const before = await on.serving.metric('clawloop_engine_cached_prompt_tokens');
    const { data: four, response } = await on.serving.client.chat.completions
      .create({ ...request, n: 4 })
      .withResponse();
    expect(response.headers.get('x-clawloop-version')).toBe('0');
    expect(four.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(four.choices[0]!.message).toEqual(one.choices[0]!.message);
    const texts = four.choices.map(({ message }) => message.content);
    expect(new Set(texts).size).toBe(4);
    expect(four.choices.every(({ logprobs }) => logprobs!.content!.length > 0)).toBe(true);
    const facts = await factsOf(on.folder, four.id);
    expect(facts.map(({ interactionId }) => interactionId)).toEqual([
      four.id,
      ...[1, 2, 3].map((index) => `${four.id}-${index}`),
    ]);
    expect(facts.map(({ answer }) => answer.content)).toEqual(texts);
    expect(facts.map(({ tokens }) => tokens!.promptIds.length)).toEqual(
      Array(4).fill(four.usage!.prompt_tokens),
    );
    const sampled = facts.reduce((sum, { tokens }) => sum + tokens!.responseIds.length, 0);
    expect(four.usage).toMatchObject({ prompt_tokens: one.usage!.prompt_tokens, completion_tokens: sampled });
    // the prompt was cached, and none of the choices read it again
    const known = Math.floor((one.usage!.prompt_tokens - 1) / 64) * 64;
    expect(known).toBeGreaterThan(0);
    await until('the engine reports the cached prompts', async () => {
      const cached = await on.serving.metric('clawloop_engine_cached_prompt_tokens');
      return cached - before === 4 * known;
    });
    const alone = await on.serving.client.chat.completions.create({
      ...request,
      seed: facts[2]!.sampling.seed!,
    });
    expect(alone.choices[0]!.message.content).toBe(texts[2]);
  });

  test('one choice reads the whole new prompt, the others only the rest after the last full block', async () => {
    const fresh = { ...prompt, messages: [user('and of the hills, '.repeat(12))], max_tokens: 2 };
    const { id, usage } = await on.serving.client.chat.completions.create({ ...fresh, n: 3 });
    const cached = (await factsOf(on.folder, id)).map((fact) => fact.usage.cachedPromptTokens!);
    const known = Math.floor((usage!.prompt_tokens - 1) / 64) * 64;
    expect(cached[0]).toBeLessThan(64);
    expect(cached.slice(1)).toEqual([known, known]);
    expect(usage!.prompt_tokens_details!.cached_tokens).toBe(cached[0]);
  });

  test('a stream sends its choices side by side, ends each of them, and counts the tokens of all', async () => {
    const request = { ...prompt, max_tokens: 10, seed: 5, n: 3 };
    const whole = await on.serving.client.chat.completions.create(request);
    const stream = await on.serving.client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = ['', '', ''];
    const ends: (string | null)[] = [null, null, null];
    const order: number[] = [];
    const usages: unknown[] = [];
    for await (const chunk of stream) {
      expect(chunk.choices.length).toBeLessThanOrEqual(1);
      if (chunk.usage != null) usages.push(chunk.usage);
      for (const { index, delta, finish_reason } of chunk.choices) {
        expect(ends[index]).toBeNull();
        if (delta.content) order.push(index);
        texts[index] += delta.content ?? '';
        ends[index] = finish_reason;
      }
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
    expect(ends).toEqual(whole.choices.map(({ finish_reason }) => finish_reason));
    expect(usages).toEqual([
      {
        ...whole.usage,
        prompt_tokens_details: expect.objectContaining({ cached_tokens: expect.anything() }),
      },
    ]);
    expect(order.indexOf(1)).toBeLessThan(order.lastIndexOf(0)); // not one after the other
  });

  test('the helpers of the official client assemble the choices', async () => {
    const request = { ...prompt, max_tokens: 6, seed: 9, n: 2 };
    const whole = await on.serving.client.chat.completions.create(request);
    const final = await on.serving.client.chat.completions.stream(request).finalChatCompletion();
    expect(final.choices.map(({ message }) => message.content)).toEqual(
      whole.choices.map(({ message }) => message.content),
    );
  });

  test('more choices than the server allows are refused by name; more than may wait get Retry-After', async () => {
    const ask = (n: number) => on.serving.client.chat.completions.create({ ...prompt, max_tokens: 200, n });
    const refused = {
      status: 400,
      param: 'n',
      message: expect.stringContaining('at most 4 (--max-waiting)'),
    };
    await expect(ask(5)).rejects.toMatchObject(refused);
    await expect(ask(6)).rejects.toMatchObject({ message: expect.stringContaining('(--max-choices)') });
    await expect(ask(0)).rejects.toMatchObject({ status: 400, param: 'n' });
    const answers = await Promise.allSettled(Array.from({ length: 4 }, () => ask(4)));
    const failures = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.length).toBeLessThan(4);
    for (const failure of failures) expect(failure).toMatchObject({ status: 429, code: 'engine_busy' });
    const tokens = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value.choices : []));
    expect(tokens.every(({ message }) => message.content !== null)).toBe(true);
  });

  test('a disconnect ends all choices, and every choice that had begun is recorded', async () => {
    const stop = new AbortController();
    const stream = await on.serving.client.chat.completions.create(
      { ...prompt, max_tokens: 400, n: 3, stream: true, temperature: 1.5 },
      { signal: stop.signal },
    );
    const seen = new Set<number>();
    let id = '';
    for await (const chunk of stream) {
      id = chunk.id;
      if (chunk.choices[0]?.delta.content) seen.add(chunk.choices[0].index);
      if (seen.size === 3) stop.abort();
    }
    const facts = await until('the facts', async () => {
      const found = await factsOf(on.folder, id);
      return found.length === 3 ? found : undefined;
    });
    expect(facts.every(({ disconnected }) => disconnected)).toBe(true);
    await until('nothing runs', async () => (await on.serving.metric('clawloop_engine_running')) === 0);
  });

  test('each choice can be rated by its own id', async () => {
    const { id } = await on.serving.client.chat.completions.create({ ...prompt, max_tokens: 3, n: 2 });
    const rate = (completion_id: string) =>
      fetch(`${on.serving.url}/v1/feedback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ completion_id, rating: 'down' }),
      });
    expect((await rate(`${id}-1`)).status).toBe(200);
    expect((await rate(`${id}-`)).status).toBe(400);
    const given = (await on.folder.events('conversations')).filter(({ type }) => type === 'feedback.given');
    expect(given.at(-1)!.data).toMatchObject({ interactionId: `${id}-1` });
  });
});

describe('several answers of an upstream engine', () => {
  const on = servingOnScript(givesTokens);

  test('`n` is sent to the engine, and the choices are kept apart', async () => {
    const piece = (index: number, text: string, id: number, reason: string | null = null) =>
      deltaFrame(
        { content: text },
        {
          index,
          token_ids: [id],
          finish_reason: reason,
          logprobs: { content: [{ token: text, logprob: -id, top_logprobs: [] }] },
        },
        { prompt_token_ids: [5, 6] },
      );
    on.upstream.script((_, response) =>
      sendFrames(response, [
        piece(0, 'He', 1),
        piece(1, 'Good', 3),
        piece(0, 'llo', 2, 'stop'),
        piece(1, 'bye', 4, 'length'),
        usageFrame(2, 4),
      ]),
    );
    const messages = [user('hi')];
    const answer = await on.serving.client.chat.completions.create({
      model: 'x',
      messages,
      n: 2,
      temperature: 1,
    });
    expect(on.upstream.calls.at(-1)!.body).toMatchObject({ n: 2 });
    expect(answer.choices.map(({ message }) => message.content)).toEqual(['Hello', 'Goodbye']);
    expect(answer.choices.map(({ finish_reason }) => finish_reason)).toEqual(['stop', 'length']);
    expect(answer.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 4 });
    const facts = await factsOf(on.folder, answer.id);
    expect(facts.map(({ tokens }) => [tokens!.promptIds, tokens!.responseIds, tokens!.logProbs])).toEqual([
      [
        [5, 6],
        [1, 2],
        [-1, -2],
      ],
      [
        [5, 6],
        [3, 4],
        [-3, -4],
      ],
    ]);
    on.upstream.script((_, response) => sendFrames(response, [piece(0, 'He', 1), finishFrame('stop')]));
    await expect(
      on.serving.client.chat.completions.create({ model: 'x', messages, n: 2 }),
    ).rejects.toMatchObject({ status: 502 });
  });
});
