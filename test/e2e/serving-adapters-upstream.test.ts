import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type VllmFake, vllmFake } from '../upstream-fakes/vllm.ts';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';
import { commitVersion, promote } from './serving-promote.ts';

describe('several adapters behind vLLM', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let vllm: VllmFake;
  beforeAll(async () => {
    vllm = await vllmFake();
    folder = await servingFolder();
    serving = await folder.start([
      '--engine',
      'upstream',
      '--upstream-kind',
      'vllm',
      '--upstream-url',
      vllm.url,
      '--adapters',
      'alice,bob',
      '--kept-versions',
      '0',
    ]);
  });
  afterAll(async () => {
    await folder.dispose();
    await vllm.stop();
  });

  const ask = async (model: string) => {
    const answer = await serving.client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'who are you?' }],
      temperature: 1,
    });
    return answer.choices[0]!.message.content;
  };

  test('each is a LoRA adapter of vLLM under its own name, and changes versions independently', async () => {
    const log = await folder.openLog();
    const promoteNext = async (adapter: string, version: number) => {
      const one = { adapter, version, parent: version - 1, strength: version };
      const committed = await commitVersion(folder.data.checkpoints(adapter), one);
      await promote(log, { ...one, ...committed });
      return `clawloop-${adapter}-v${version}-${committed.digest.slice(0, 8)}`;
    };
    const becomes = (model: string, name: string) =>
      until(`${model} is ${name}`, async () => (await ask(model)) === `I am ${name}.`);
    const bob = await promoteNext('bob', 1);
    await becomes('clawloop:bob', bob);
    expect(await ask('clawloop')).toBe('I am base-model.');
    const alice = await promoteNext('alice', 1);
    await becomes('clawloop', alice);
    expect(await ask('clawloop:bob')).toBe(`I am ${bob}.`);
    const next = await promoteNext('alice', 2);
    await becomes('clawloop', next);
    await until('only the required versions are loaded', () => !vllm.adapters.has(alice));
    expect([...vllm.adapters.keys()].sort()).toEqual([next, bob].sort());
    expect(await ask('clawloop:bob@base')).toBe('I am base-model.');
  });
});
