import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { chatAndReact } from './harness/chat-and-react.ts';
import { clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

/** Every weight of claw-nano is trained, through the whole loop. */

const on = loopOnFolder();
const start = () => on.start('--training', 'full', '--collector-batch-size', '4');

/** An answer with the log-probabilities of its tokens, and the version that gave it. */
async function say(model: string, messages: OpenAI.ChatCompletionMessageParam[], more = {}) {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const completion = await client.chat.completions.create({ model, messages, max_tokens: 160, ...more });
  const choice = completion.choices[0]!;
  const { version } = (completion as unknown as { clawloop: { version: number } }).clawloop;
  const logProbs = choice.logprobs?.content?.map(({ logprob }) => logprob);
  return { version, text: choice.message.content ?? '', logProbs };
}
const probe = (model: string) =>
  say(model, [{ role: 'user', content: 'How do I pack for a weekend trip?' }], {
    temperature: 0,
    logprobs: true,
    max_tokens: 40,
  });

test('all weights learn; the base does not change, and the new weights survive a restart', async () => {
  await start();
  const base = await probe('clawloop@base');
  expect(base.logProbs!.length).toBeGreaterThan(5);

  await chatAndReact(async (messages) => (await say('clawloop', messages)).text);
  await until('v1 is served', async () => (await probe('clawloop')).version === 1);
  const learned = await probe('clawloop');
  expect(learned.logProbs).not.toEqual(base.logProbs);
  expect(await probe('clawloop@base')).toEqual(base);

  const [checkpoint] = (await readdir(join(on.folder, 'checkpoints', 'default'))).filter((name) =>
    /^1-/.test(name),
  );
  const files = await readdir(join(on.folder, 'checkpoints', 'default', checkpoint!));
  expect(files).toEqual(
    expect.arrayContaining(['config.json', 'model.safetensors', 'optimizer.safetensors', 'tokenizer.json']),
  );
  expect(await on.run('policy', 'list')).toMatch(/v1 +v0 +4 +promoted +head/);
  expect(await on.run('audit')).toMatch(/balances/);

  expect(await on.loop.stop()).toBe(0);
  expect(await on.run('replay')).toMatch(/1 replayed: 1 same, 0 different/);
  await start();
  expect(await probe('clawloop')).toEqual(learned);
  expect(await probe('clawloop@base')).toEqual(base);
});

test('full weights cannot continue as LoRA until a rollback to the base', async () => {
  await on.loop.stop();
  await expect(startClawLoop(on.folder, ['--training', 'lora'])).rejects.toThrow(
    /"default" was trained as full, but the settings ask for lora/,
  );
  const looked = await clawloop(['doctor', '--training', 'lora', '--data-folder', on.folder]);
  expect(looked.stdout).toMatch(/^bad +version 1 of the adapter "default" was trained as full/m);
  await on.run('policy', 'rollback', '0');
  await on.start('--training', 'lora');
  expect((await probe('clawloop')).version).toBe(0);
});
