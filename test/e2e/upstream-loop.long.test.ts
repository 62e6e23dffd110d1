import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type VllmFake, vllmFake } from '../upstream-fakes/vllm.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';

// All services, with vLLM (a fake of it) generating: what is said there is judged and trained here, and comes
// back as an adapter there.

type Marked = { readonly clawloop?: { readonly version: number } };

let folder: string;
let vllm: VllmFake;
let loop: ClawLoop;
let client: OpenAI;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-upstream-loop-'));
  vllm = await vllmFake();
  loop = await startClawLoop(folder, [
    ...[
      '--serving-engine',
      'upstream',
      '--serving-upstream-kind',
      'vllm',
      '--serving-upstream-url',
      vllm.url,
    ],
    ...[
      '--serving-upstream-sampling',
      'plain',
      '--serving-kept-versions',
      '0',
      '--collector-batch-size',
      '2',
    ],
  ]);
  client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(async () => {
  await loop?.stop();
  await vllm.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = async (...argv: string[]) => {
  const result = await clawloop([...argv, '--data-folder', folder]);
  expect(result.code, result.stderr + result.stdout).toBe(0);
  return result.stdout;
};
const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
  const answer = await client.chat.completions.create({ model: 'clawloop', messages });
  return { text: answer.choices[0]!.message.content!, version: (answer as Marked).clawloop!.version };
};
/** A question, and what the person makes of the answer: a turn that is judged. */
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
    () => [...vllm.adapters.keys()].find((name) => name.startsWith(`clawloop-default-v${version}-`)),
    45_000,
  );

test('chats become a version, the version an adapter of the server, which answers the next chats', async () => {
  for (const topic of ['one', 'three', 'five', 'seven']) expect(await talk(topic)).toBe(0);
  const first = await isLoaded(1);
  await until('it answers', async () => (await ask([{ role: 'user', content: 'and now?' }])).version === 1);
  expect((await ask([{ role: 'user', content: 'who?' }])).text).toBe(`I am ${first}.`);
  for (const topic of ['nine', 'eleven', 'thirteen', 'fifteen']) await talk(topic);
  const second = await isLoaded(2);
  await until('the first one is unloaded', () => !vllm.adapters.has(first));
  expect((await ask([{ role: 'user', content: 'who?' }])).text).toBe(`I am ${second}.`);
  const list = await run('policy', 'list');
  expect(list).toMatch(/v2 +v1 +2 +promoted/);
  expect(new Set(vllm.loadedNames).size).toBe(vllm.loadedNames.length);
  expect(await run('turns', 'list', '--why')).toMatch(/trained in v1/);
  await run('audit');
});
