import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { tokensOf } from '../upstream-fakes/fake-tokens.ts';
import { type VllmFake, vllmFake } from '../upstream-fakes/vllm.ts';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';
import { commitVersion, promote, rollBack } from './serving-promote.ts';

type Marked = { readonly clawloop?: { readonly version: number } };

describe('behind vLLM', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let vllm: VllmFake;
  let log: EventLog;
  const start = async (more: readonly string[] = [], wait: 'ready' | 'listening' = 'ready') => {
    const flags = ['--engine', 'upstream', '--upstream-kind', 'vllm', '--upstream-url', vllm.url];
    serving = await folder.start([...flags, '--kept-versions', '0', ...more], wait);
    return serving;
  };
  beforeEach(async () => {
    vllm = await vllmFake();
    folder = await servingFolder();
    log = await folder.openLog();
  });
  afterEach(async () => {
    await folder.dispose();
    await vllm.stop();
  });

  const promoteNext = async (version: number) => {
    const parent = version - 1;
    const committed = await commitVersion(folder.data.checkpoints('default'), {
      version,
      parent,
      strength: version,
    });
    await promote(log, { version, parent, ...committed });
    return `clawloop-default-v${version}-${committed.digest.slice(0, 8)}`;
  };
  const isServed = (version: number) =>
    until(
      `version ${version} is served`,
      async () => (await serving.metric('clawloop_serving_served_version')) === version,
    );
  const ask = async (model = 'clawloop', more: object = {}) => {
    const answer = await serving.client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'who are you?' }],
      temperature: 1,
      ...more,
    });
    const { version } = (answer as Marked).clawloop!;
    return { id: answer.id, text: answer.choices[0]!.message.content, version };
  };
  const factOf = async (id: string) => {
    const found = (await folder.events('conversations')).find((event) => event.id === id);
    return (found as InteractionCompleted).data;
  };
  const loaded = async () =>
    (await folder.events('training'))
      .filter(({ type }) => type === 'policy.loaded')
      .map(({ data }) => (data as { version: number }).version);

  test('a new version is loaded under its own name and answers; the old one is unloaded', async () => {
    await start();
    expect(await ask()).toMatchObject({ text: 'I am base-model.', version: 0 });
    const first = await promoteNext(1);
    await isServed(1);
    const answer = await ask();
    expect(answer).toMatchObject({ text: `I am ${first}.`, version: 1 });
    const { tokens, untrainable, version } = await factOf(answer.id);
    expect([untrainable, version]).toEqual([undefined, 1]);
    expect(tokens!.promptIds).toEqual(tokensOf('[{"role":"user","content":"who are you?"}]'));
    expect(tokens!.responseIds.slice(0, -1)).toEqual(tokensOf(`I am ${first}.`));
    const second = await promoteNext(2);
    await isServed(2);
    expect(await ask()).toMatchObject({ text: `I am ${second}.`, version: 2 });
    await until('the first one is unloaded', () => !vllm.adapters.has(first));
    expect([...vllm.adapters.keys()]).toEqual([second]);
    expect(await ask('@base')).toMatchObject({ text: 'I am base-model.', version: 0 });
    expect(await ask('@v1')).toMatchObject({ text: `I am ${first}.`, version: 1 });
    await rollBack(log, 2, 1);
    await isServed(1);
    expect((await ask()).version).toBe(1);
    await until('the load is recorded', async () => (await loaded()).length >= 4);
    expect(await loaded()).toEqual([0, 1, 2, 1]);
  });

  test('an open answer ends on its version, whose adapter stays loaded until then', async () => {
    const first = await promoteNext(1);
    await start();
    const release = vllm.hold();
    const stream = await serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    await promoteNext(2);
    await isServed(2);
    expect(vllm.adapters.has(first)).toBe(true);
    release();
    let text = '';
    for (let next = await chunks.next(); !next.done; next = await chunks.next())
      text += next.value.choices[0]?.delta.content ?? '';
    expect(`I${text}`.replace('II', 'I')).toBe(`I am ${first}.`);
    await until('it is unloaded', () => !vllm.adapters.has(first));
    expect((await ask()).version).toBe(2);
  });

  test('during many changes of versions every answer is from one version, and each version is loaded once', async () => {
    await start();
    const names = new Map([[0, 'base-model']]);
    const heard: { readonly text: string | null; readonly version: number }[] = [];
    const talking = new AbortController();
    const people = Array.from({ length: 8 }, async () => {
      while (!talking.signal.aborted) heard.push(await ask());
    });
    for (let version = 1; version <= 6; version++) {
      const before = heard.length;
      await until('people talk', () => heard.length >= before + 10);
      names.set(version, await promoteNext(version));
      await isServed(version);
    }
    const before = heard.length;
    await until('people talk', () => heard.length >= before + 20);
    talking.abort();
    await Promise.all(people);
    for (const { text, version } of heard) expect(text).toBe(`I am ${names.get(version)}.`);
    expect((await ask()).version).toBe(6);
    await until('one adapter is left', () => vllm.adapters.size === 1);
    expect(vllm.loadedNames).toEqual([1, 2, 3, 4, 5, 6].map((version) => names.get(version)));
  });

  test('a failed load is reported and retried; the previous version stays in service', async () => {
    await start();
    vllm.failLoads(1);
    const first = await promoteNext(1);
    await until(
      'the failure',
      async () => (await serving.metric('clawloop_serving_policy_load_failures_total')) > 0,
    );
    expect((await ask()).version).toBe(0);
    expect((await fetch(`${serving.url}/readyz`)).status).toBe(200);
    await isServed(1);
    expect(vllm.loadedNames).toEqual([first]);
  });

  test('after a restart of the server its adapters are loaded again, and no request fails', async () => {
    const first = await promoteNext(1);
    await start();
    expect((await ask()).text).toBe(`I am ${first}.`);
    await vllm.restart();
    const answers = await Promise.all([ask(), ask(), ask()]);
    for (const answer of answers) expect(answer).toMatchObject({ text: `I am ${first}.`, version: 1 });
    expect(vllm.loadedNames).toEqual([first, first]);
  });

  test('a restarted serving finds the loaded adapters, and unloads unused ones', async () => {
    const first = await promoteNext(1);
    await start();
    await serving.stop();
    await promoteNext(2);
    await start();
    expect((await ask()).version).toBe(2);
    await until('the first one is unloaded', () => !vllm.adapters.has(first));
    await serving.stop();
    await start();
    expect((await ask()).version).toBe(2);
    expect(vllm.loadedNames).toHaveLength(2);
  });

  test('while the server is away serving is not ready and gives the reason; it continues when the server is back', async () => {
    const name = await promoteNext(1);
    await vllm.stop();
    await start([], 'listening');
    await until('it says why', async () =>
      /is unavailable|cannot load/.test(await (await fetch(`${serving.url}/readyz`)).text()),
    );
    await vllm.restart();
    await until('it is ready', async () => (await fetch(`${serving.url}/readyz`)).ok);
    expect(await ask()).toMatchObject({ text: `I am ${name}.`, version: 1 });
  });

  test('servings that share a server: one loads an adapter again that the other unloaded', async () => {
    await promoteNext(1);
    const [one, other] = [await start(), await start()];
    const versionsOf = (servings: readonly ServingProcess[]) =>
      Promise.all(servings.map((each) => each.metric('clawloop_serving_served_version')));
    for (const version of [2, 3]) {
      await promoteNext(version);
      await until('both serve it', async () =>
        (await versionsOf([one, other])).every((served) => served === version),
      );
      for (const each of [one, other, one]) {
        serving = each;
        expect(await ask()).toMatchObject({ version });
        expect(await ask('@v1')).toMatchObject({ version: 1 });
      }
    }
    await until('one adapter is left', () => vllm.adapters.size === 1);
  });

  test('checkpoints with another path on the server are loaded by that path', async () => {
    await start(['--upstream-adapter-folder', `${folder.data.root}=/somewhere/else`]);
    await promoteNext(1);
    await until('it is asked for', () => vllm.calls.some(({ path }) => path.endsWith('/load_lora_adapter')));
    const { body } = vllm.calls.find(({ path }) => path.endsWith('/load_lora_adapter'))!;
    expect(body.lora_path).toBe(`/somewhere/else/adapters/default/${body.lora_name}`);
  });
});
