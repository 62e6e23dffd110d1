import { rm } from 'node:fs/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccessKey } from '../../shared/runtime/access-keys.ts';
import { until } from './harness/clawloop.ts';
import { rlClient } from './rl-client.ts';
import { type ServingFolder, servingFolder } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
const manual = 'When you are asked, look it up first, then answer in a few words. '.repeat(4);

describe('the engine behind the endpoint', () => {
  let folder: ServingFolder;
  beforeAll(async () => {
    folder = await servingFolder();
  });
  afterAll(() => folder.dispose());

  test('a cached prompt is not read again, and the answer is the same', async () => {
    const serving = await folder.start();
    const ask = (messages: OpenAI.ChatCompletionMessageParam[], more: object = {}) =>
      serving.client.chat.completions.create({
        model: 'clawloop',
        messages,
        max_tokens: 12,
        temperature: 0,
        logprobs: true,
        ...more,
      });
    const logProbsOf = (answer: OpenAI.ChatCompletion) =>
      answer.choices[0]!.logprobs!.content!.map(({ logprob }) => logprob);
    const cachedOf = (answer: OpenAI.ChatCompletion) => answer.usage!.prompt_tokens_details!.cached_tokens!;
    const first = await ask([{ role: 'system', content: manual }, user('Where is it?')]);
    const again = await ask([{ role: 'system', content: manual }, user('Where is it?')]);
    const base = await ask([{ role: 'system', content: manual }, user('Where is it?')], { model: '@base' });
    expect(first.usage!.prompt_tokens).toBeGreaterThan(128);
    expect(cachedOf(first)).toBe(0);
    expect(cachedOf(again)).toBe(Math.floor((first.usage!.prompt_tokens - 1) / 64) * 64);
    expect(again.choices[0]!.message.content).toBe(first.choices[0]!.message.content);
    logProbsOf(again).forEach((logProb, index) => {
      expect(Math.abs(logProb - logProbsOf(first)[index]!)).toBeLessThan(1e-4);
    });
    expect(base.usage!.prompt_tokens).toBe(first.usage!.prompt_tokens);
    const other = await ask([{ role: 'system', content: manual }, user('And who has it?')]);
    expect(cachedOf(other)).toBeGreaterThanOrEqual(64);
    const cached = [again, base, other].reduce((sum, answer) => sum + cachedOf(answer), 0);
    await until(
      'the engine reports the cached prompts',
      async () => (await serving.metric('clawloop_engine_cached_prompt_tokens')) === cached,
    );
    const facts = await folder.events('conversations');
    const fact = facts.find(({ id }) => id === again.id);
    expect(fact?.data).toMatchObject({ usage: { cachedPromptTokens: cachedOf(again) } });
    await serving.stop();
  });

  test('no key can detect the prompts of another key in the cache, unless the keys share it', async () => {
    const create = (name: string) => createAccessKey(folder.data.keys, name);
    const [ann, bob, eve] = [await create('ann'), await create('bob'), await create('eve')];
    const rl = rlClient(() => serving.url);
    let serving = await folder.start();
    const cachedFor = async (apiKey: string, content: string) => {
      const client = new OpenAI({ baseURL: `${serving.url}/v1`, apiKey, maxRetries: 0 });
      const answer = await client.chat.completions.create({
        model: 'clawloop',
        messages: [user(content)],
        max_tokens: 1,
      });
      return answer.usage!.prompt_tokens_details!.cached_tokens!;
    };
    const secret = `${manual} Jane owes me 4711.`;
    expect(await cachedFor(ann.secret, secret)).toBe(0);
    expect(await cachedFor(bob.secret, secret)).toBe(0);
    expect(await cachedFor(eve.secret, manual)).toBe(0);
    const own = await cachedFor(ann.secret, secret);
    expect(own).toBeGreaterThanOrEqual(64);
    const { api_key: ofSession } = await rl.start('demo', undefined, ann.secret);
    expect(await cachedFor(ofSession, secret)).toBe(own);
    await serving.stop();
    serving = await folder.start(['--share-prefixes']);
    expect(await cachedFor(ann.secret, secret)).toBe(0);
    expect(await cachedFor(bob.secret, secret)).toBe(own);
    await serving.stop();
    await rm(folder.data.keys);
  });

  test('stop tokens end an answer, and min_p is recorded', async () => {
    const serving = await folder.start();
    const ask = { model: 'clawloop', messages: [user('hello')], max_tokens: 10, temperature: 0.9, seed: 5 };
    const whole = await serving.client.chat.completions.create(ask);
    const idsOf = async (id: string) => (await folder.interaction(id)).tokens!;
    const { responseIds } = await idsOf(whole.id);
    const stop = { stop_token_ids: [responseIds[3]!] };
    const cut = await serving.client.chat.completions.create({ ...ask, ...stop });
    expect(cut.choices[0]!.finish_reason).toBe('stop');
    const end = responseIds.indexOf(responseIds[3]!) + 1;
    expect((await idsOf(cut.id)).responseIds).toEqual(responseIds.slice(0, end));
    // `min_p` is a field of vLLM that the SDK does not know
    const withMinP = { ...ask, min_p: 0.2 };
    const filtered = await serving.client.chat.completions.create(withMinP);
    expect((await idsOf(filtered.id)).filters).toMatchObject({ minP: 0.2 });
    await serving.stop();
  });

  test('if too many requests wait, the next one gets Retry-After', async () => {
    const serving = await folder.start(['--max-batch', '1', '--max-waiting', '2']);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        fetch(`${serving.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'clawloop', messages: [user('hello')], max_tokens: 100 }),
        }),
      ),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused[0]!.json()).toMatchObject({
      error: {
        type: 'rate_limit_error',
        code: 'engine_busy',
        message: expect.stringContaining('2 requests'),
      },
    });
    await Promise.all(answers.slice(1).map((answer) => (answer.bodyUsed ? '' : answer.text())));
    await serving.stop();
  });
});
