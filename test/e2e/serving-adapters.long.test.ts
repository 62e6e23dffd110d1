import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EventLog } from '../../shared/log/event-log.ts';
import { clawloop, until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';
import { commitVersion, promote } from './serving-promote.ts';

type Answer = {
  readonly text: string | null;
  readonly logProbs: readonly number[];
  readonly version: number;
};
const neverEnds = { 1202: -100, 1200: -100 };
/** Long enough for the prefix cache. */
const long = `Tell me about it. ${'The same words come again and again. '.repeat(12)}`;

describe('several adapters behind one serving', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let log: EventLog;
  const flags = ['--adapters', 'alice,bob'];
  beforeEach(async () => {
    folder = await servingFolder();
    serving = await folder.start(flags);
    log = await folder.openLog();
  });
  afterEach(() => folder.dispose());

  const promoteNext = async (adapter: string, version: number, strength: number, more: object = {}) => {
    const one = { adapter, version, parent: version - 1, strength, ...more };
    await promote(log, { ...one, ...(await commitVersion(folder.data.checkpoints(adapter), one)) });
  };
  const figure = async (name: string, adapter: string) => {
    const text = await (await fetch(`${serving.url}/metrics`)).text();
    const line = text.split('\n').find((one) => one.startsWith(`${name}{adapter="${adapter}"`));
    return Number(line?.split(' ').at(-1));
  };
  const isServed = (adapter: string, version: number) =>
    until(
      `v${version} of ${adapter} is served`,
      async () => (await figure('clawloop_serving_served_version', adapter)) === version,
    );
  const ask = async (model: string, question: string): Promise<Answer> => {
    const answer = await serving.client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: question }],
      max_tokens: 20,
      temperature: 0,
      logit_bias: neverEnds,
      logprobs: true,
    });
    const [{ message, logprobs }] = answer.choices as [OpenAI.ChatCompletion.Choice];
    const { version } = (answer as unknown as { readonly clawloop: { readonly version: number } }).clawloop;
    return { text: message.content, logProbs: logprobs!.content!.map(({ logprob }) => logprob), version };
  };

  test('each changes versions independently during chats with both, and no answer is from the other one', async () => {
    const before = await ask('clawloop:bob', 'how are you?');
    expect(await ask('clawloop', 'how are you?')).toEqual(before); // both share the base
    const heard: (Answer & { readonly adapter: string; readonly question: string })[] = [];
    const talking = new AbortController();
    const people = ['alice', 'bob'].map(async (adapter) => {
      for (let turn = 0; !talking.signal.aborted; turn++) {
        const question = `turn ${turn % 5}`;
        heard.push({ adapter, question, ...(await ask(`clawloop:${adapter}`, question)) });
      }
    });
    for (const version of [1, 2, 3]) {
      const said = heard.length;
      await until('people talk', () => heard.length >= said + 4);
      await promoteNext('alice', version, 0.6 * version);
      await isServed('alice', version);
    }
    const said = heard.length;
    await until('people talk', () => heard.length >= said + 6);
    talking.abort();
    await Promise.all(people);

    const ofBob = heard.filter(({ adapter }) => adapter === 'bob');
    expect(new Set(ofBob.map(({ version }) => version))).toEqual(new Set([0]));
    const ofAlice = heard.filter(({ adapter }) => adapter === 'alice');
    expect(ofAlice.at(-1)!.version).toBe(3);
    const distinct = new Map(heard.map((one) => [`${one.adapter}/${one.version}/${one.question}`, one]));
    for (const { adapter, question, text, version } of distinct.values())
      expect(await ask(`clawloop:${adapter}@v${version}`, question)).toMatchObject({ text, version });
    expect(await ask('clawloop:bob', 'how are you?')).toEqual(before);
    expect((await ask('clawloop', 'how are you?')).logProbs).not.toEqual(before.logProbs);
    // the base, alice's live version and the two that are kept
    expect(await serving.metric('clawloop_engine_versions')).toBeLessThanOrEqual(4);
  });

  test('the prompt cache of one adapter is not used for the other, since its keys and values differ', async () => {
    await promoteNext('alice', 1, 1);
    await promoteNext('bob', 1, 2);
    await Promise.all([isServed('alice', 1), isServed('bob', 1)]);
    /** Prompt tokens that were cached, once the prompts of all answers are counted. */
    const known = async () => {
      const [all, read] = ['clawloop_serving_tokens_total', 'clawloop_engine_prompt_tokens'] as const;
      await until(
        'the prompts are counted',
        async () => (await serving.metric(read)) === (await serving.metric(all)),
      );
      return serving.metric('clawloop_engine_cached_prompt_tokens');
    };
    const alice = await ask('clawloop', long);
    const bob = await ask('clawloop:bob', long);
    expect(await known()).toBe(0);
    expect(bob.logProbs).not.toEqual(alice.logProbs);
    const again = await Promise.all([ask('clawloop:bob', long), ask('clawloop', long)]);
    expect(await known()).toBeGreaterThan(0);
    await serving.stop();
    serving = await folder.start([...flags, '--prefix-cache-mib', '0']);
    const afresh = [await ask('clawloop:bob', long), await ask('clawloop', long)];
    expect(again.map(({ text }) => text)).toEqual(afresh.map(({ text }) => text));
    expect([bob, alice]).toEqual(afresh);
  });

  test('a key for one adapter gets it under every name, and can use no other', async () => {
    await promoteNext('bob', 1, 2);
    await isServed('bob', 1);
    const data = ['--data-folder', folder.data.root];
    const create = async (...argv: readonly string[]) =>
      (await clawloop(['keys', 'create', 'someone', ...argv, ...data])).stdout.split('\n')[0]!;
    const [bob, all] = [await create('--only-adapter', 'bob'), await create()];
    const post = async (key: string, path: string, body: object) => {
      const response = await fetch(`${serving.url}${path}`, {
        method: 'POST',
        body: JSON.stringify({ max_tokens: 16, ...body }),
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      });
      // biome-ignore lint/suspicious/noExplicitAny: of three APIs
      return { status: response.status, body: (await response.json()) as any };
    };
    const messages = [{ role: 'user', content: 'hi' }];
    const chat = (key: string, model: string) => post(key, '/v1/chat/completions', { model, messages });
    for (const [key, model, version] of [
      [bob, 'clawloop', 1] as const,
      [bob, 'clawloop:bob', 1] as const,
      [bob, '@base', 0] as const,
      [all, 'clawloop', 0] as const,
      [all, 'clawloop:bob', 1] as const,
    ])
      expect(await chat(key, model)).toMatchObject({ status: 200, body: { clawloop: { version } } });
    const missing = { status: 404, body: { error: { code: 'model_not_found', param: 'model' } } };
    for (const model of ['clawloop:alice', 'clawloop:alice@base', 'clawloop:nobody', 'clawloop@v2'])
      expect(await chat(bob, model)).toMatchObject(missing);
    expect(await chat(all, 'clawloop:nobody')).toMatchObject(missing);
    expect(await post(bob, '/v1/messages', { model: 'clawloop:alice', messages })).toMatchObject({
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error' } },
    });
    const respond = (key: string, model: string, more: object = {}) =>
      post(key, '/v1/responses', {
        model,
        input: 'hi',
        max_tokens: undefined,
        max_output_tokens: 16,
        ...more,
      });
    expect(await respond(bob, 'clawloop:alice')).toMatchObject(missing);

    // no caller can continue an answer of one adapter with the other
    const { body: said } = await respond(all, 'clawloop:bob');
    const more = { previous_response_id: said.id };
    expect((await respond(all, 'clawloop:bob', more)).status).toBe(200);
    expect(await respond(all, 'clawloop', more)).toMatchObject({
      status: 400,
      body: { error: { code: 'previous_response_not_found' } },
    });

    const names = async (apiKey: string) =>
      (await new OpenAI({ baseURL: `${serving.url}/v1`, apiKey }).models.list()).data.map(({ id }) => id);
    expect(await names(bob)).toEqual(['clawloop', 'clawloop@base', 'clawloop@v1']);
    expect(await names(all)).toEqual([
      'clawloop',
      'clawloop@base',
      'clawloop:bob',
      'clawloop:bob@base',
      'clawloop:bob@v1',
    ]);

    // a session has the adapter of its key
    const { body: session } = await post(bob, '/rl/start_session', { task_id: 'task' });
    expect(await chat(session.api_key, 'clawloop')).toMatchObject({ body: { clawloop: { version: 1 } } });
    expect(await chat(session.api_key, 'clawloop:alice')).toMatchObject(missing);
    expect(await post(bob, '/rl/start_session', { task_id: 'x', model: 'clawloop:alice' })).toMatchObject(
      missing,
    );
    // with a key for all adapters, it has the adapter of `model`, or of the previous session
    const begin = async (more: object) =>
      (await post(all, '/rl/start_session', { task_id: 'x', ...more })).body;
    const { api_key } = await begin({ model: 'clawloop:bob' });
    await begin({ api_key });
    expect(await chat(api_key, 'clawloop')).toMatchObject({ body: { clawloop: { version: 1 } } });
    expect(await chat(api_key, 'clawloop:alice')).toMatchObject(missing);
    const pinned = await post(all, '/rl/start_session', { task_id: 'x', model: 'clawloop:bob@v1' });
    expect(pinned).toMatchObject({ status: 400, body: { error: { param: 'model' } } });
    const facts = await folder.events('conversations');
    const adapters = facts.flatMap(({ type, data }) =>
      type === 'interaction.completed' || type === 'session.started'
        ? [(data as { readonly adapter: string }).adapter]
        : [],
    );
    // one of alice's with the key for all; the others are bob's: chats, responses and sessions with their answers
    expect(adapters.sort()).toEqual(['alice', ...Array(11).fill('bob')]);
    const lanes = new Set(
      facts.flatMap(({ type, subject, data }) =>
        type === 'interaction.completed' && (data as { key: string }).key !== undefined ? [subject] : [],
      ),
    );
    expect(lanes.size).toBe(5); // bob's key, two sessions, and one for each adapter of the other key
  });

  test('an adapter that cannot be loaded does not block the others', async () => {
    await promoteNext('alice', 1, 1);
    await isServed('alice', 1);
    await promoteNext('bob', 1, 1, { baseDigest: 'another' });
    await until(
      'the load failed',
      async () => (await figure('clawloop_serving_policy_load_failures_total', 'bob')) > 0,
    );
    expect(await figure('clawloop_serving_policy_load_failures_total', 'alice')).toBe(0);
    expect((await ask('clawloop:bob', 'hello')).version).toBe(0);
    await serving.stop();
    serving = await folder.start(flags);
    expect((await ask('clawloop', 'hello')).version).toBe(1);
    await expect(ask('clawloop:bob', 'hello')).rejects.toMatchObject({ status: 503, code: 'nothing_served' });
    expect((await ask('clawloop:bob@base', 'hello')).version).toBe(0);
  });
});
