import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { type SglangFake, sglangFake } from '../upstream-fakes/sglang.ts';
import { type VllmFake, vllmFake } from '../upstream-fakes/vllm.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

// All services with a fake of an upstream engine. Its answers are judged and trained, and each version is loaded there
// as an adapter.

type Marked = { readonly clawloop?: { readonly version: number } };

const engines = {
  /** Its raw log-probs fit a temperature of 1. */
  vllm: { open: (): Promise<VllmFake> => vllmFake(), flags: ['--serving-upstream-sampling', 'plain'] },
  sglang: {
    open: async (): Promise<SglangFake> => {
      const folder = modelFolder(CLAW_NANO);
      const { eosTokenIds } = (await openCheckpoint(folder)).generationConfig;
      return sglangFake({ tokenizer: await loadTokenizer(folder), endId: eosTokenIds[0]! });
    },
    flags: [],
  },
};

describe.each(['vllm', 'sglang'] as const)('the loop behind %s', (kind) => {
  let engine: VllmFake | SglangFake;
  afterAll(() => engine?.stop()); // after the loop
  const on = loopOnFolder();
  let client: OpenAI;
  beforeAll(async () => {
    engine = await engines[kind].open();
    await on.start(
      '--serving-engine',
      'upstream',
      '--serving-upstream-kind',
      kind,
      '--serving-upstream-url',
      engine.url,
      ...engines[kind].flags,
      '--serving-kept-versions',
      '0',
      '--collector-batch-size',
      '2',
    );
    client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
    const answer = await client.chat.completions.create({ model: 'clawloop', messages });
    return { text: answer.choices[0]!.message.content!, version: (answer as Marked).clawloop!.version };
  };
  /** A question, and the person's reaction to the answer: a turn that is judged. */
  const talk = async (topic: string): Promise<number> => {
    const question = { role: 'user', content: `Who are you, ${topic}?` } as const;
    const { text, version } = await ask([question]);
    const praise = topic.length % 2 === 0 ? 'Perfect, thanks!' : 'Great, thank you!';
    await ask([question, { role: 'assistant', content: text }, { role: 'user', content: praise }]);
    return version;
  };
  const isLoaded = (version: number) =>
    until(
      `an adapter of version ${version}`,
      () => [...engine.adapters.keys()].find((name) => name.startsWith(`clawloop-default-v${version}-`)),
      180_000,
    );
  const isAnswering = (version: number) =>
    until(
      `version ${version} answers`,
      async () => (await ask([{ role: 'user', content: 'and now?' }])).version === version,
    );

  test('chats become a version, and the engine loads it as an adapter that answers the next chats', async () => {
    // two turns make a batch; more turns would make a version that replaces this one
    for (const topic of ['one', 'three']) expect(await talk(topic)).toBe(0);
    const first = await isLoaded(1);
    await isAnswering(1);
    expect((await ask([{ role: 'user', content: 'who?' }])).text).toBe(`I am ${first}.`);
    for (const topic of ['nine', 'eleven']) await talk(topic);
    const second = await isLoaded(2);
    await until('the first one is unloaded', () => !engine.adapters.has(first));
    await isAnswering(2);
    expect((await ask([{ role: 'user', content: 'who?' }])).text).toBe(`I am ${second}.`);
    expect(await on.run('policy', 'list')).toMatch(/v2 +v1 +2 +promoted/);
    expect(new Set(engine.loadedNames).size).toBe(engine.loadedNames.length);
    expect(await on.run('turns', 'list', '--why')).toMatch(/trained in v1/);
    await on.run('audit');
  });
});
