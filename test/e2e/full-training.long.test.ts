import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';

/** Every weight of claw-nano is trained, through the whole loop. */

let folder: string;
let loop: ClawLoop | undefined;
const start = async (): Promise<ClawLoop> => {
  loop = await startClawLoop(folder, ['--training', 'full', '--collector-batch-size', '4']);
  return loop;
};
const run = async (...argv: string[]) => {
  const result = await clawloop([...argv, '--data-folder', folder]);
  expect(result.code, result.stderr + result.stdout).toBe(0);
  return result.stdout;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-full-'));
});
afterAll(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An answer with the log-probabilities of its tokens, and the version that gave it. */
async function say(model: string, messages: OpenAI.ChatCompletionMessageParam[], more = {}) {
  const client = new OpenAI({ baseURL: `${loop!.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const completion = await client.chat.completions.create({ model, messages, max_tokens: 160, ...more });
  const choice = completion.choices[0]!;
  const { version } = (completion as unknown as { clawloop: { version: number } }).clawloop;
  const logProbs = choice.logprobs?.content?.map(({ logprob }) => logprob);
  return { version, text: choice.message.content ?? '', logProbs };
}
const probe = (model: string) =>
  say(model, [{ role: 'user', content: 'How do I pack for a weekend trip?' }], {
    ...{ temperature: 0, logprobs: true, max_tokens: 40 },
  });

test('all weights learn; the base stays as it was, and what was learned outlives a restart', async () => {
  await start();
  const base = await probe('clawloop@base');
  expect(base.logProbs!.length).toBeGreaterThan(5);

  const reactions = [
    'Perfect, thanks!',
    'No lists, please.',
    'Great, thank you!',
    'Please skip the greeting.',
  ];
  // six chats: an answer that was cut off does not train
  for (let index = 0; index < 6; index++) {
    const question = { role: 'user', content: `How do I pack for a trip to place number ${index}?` } as const;
    const { text } = await say('clawloop', [question]);
    const reaction = reactions[index % reactions.length]!;
    await say('clawloop', [
      question,
      { role: 'assistant', content: text },
      { role: 'user', content: reaction },
    ]);
  }
  await until('v1 is served', async () => (await probe('clawloop')).version === 1, 60_000);
  const learned = await probe('clawloop');
  expect(learned.logProbs).not.toEqual(base.logProbs);
  expect(await probe('clawloop@base')).toEqual(base);

  const [checkpoint] = (await readdir(join(folder, 'checkpoints', 'default'))).filter((name) =>
    /^1-/.test(name),
  );
  const files = await readdir(join(folder, 'checkpoints', 'default', checkpoint!));
  expect(files).toEqual(
    expect.arrayContaining(['config.json', 'model.safetensors', 'optimizer.safetensors', 'tokenizer.json']),
  );
  expect(await run('policy', 'list')).toMatch(/v1 +v0 +4 +promoted +head/);
  expect(await run('audit')).toMatch(/balances/);

  expect(await loop!.stop()).toBe(0);
  expect(await run('replay')).toMatch(/1 replayed: 1 the same, 0 different/);
  await start();
  expect(await probe('clawloop')).toEqual(learned);
  expect(await probe('clawloop@base')).toEqual(base);
});

test('it does not go on as an adapter of the other kind, until it begins again from the base', async () => {
  await loop!.stop();
  await expect(startClawLoop(folder, ['--training', 'lora'])).rejects.toThrow(
    /"default" was trained as full, the settings say lora/,
  );
  const looked = await clawloop(['doctor', '--training', 'lora', '--data-folder', folder]);
  expect(looked.stdout).toMatch(/^bad +version 1 of the adapter "default" was trained as full/m);
  await run('policy', 'rollback', '0');
  loop = await startClawLoop(folder, ['--training', 'lora']);
  expect((await probe('clawloop')).version).toBe(0);
});
