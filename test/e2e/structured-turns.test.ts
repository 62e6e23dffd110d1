import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';

// What becomes of turns whose answers were held to a format: those that the policy wrote by itself train.

let folder: string;
let loop: ClawLoop;
vi.setConfig({ testTimeout: 120_000 });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-formats-'));
  loop = await startClawLoop(folder, ['--collector-batch-size', '2']);
});
afterAll(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a turn that tokens were kept out of is told as constrained; one that needed no help is not', async () => {
  const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const lineOf = (id: string, reason: string) =>
    until(`${id} is ${reason}`, async () => {
      const { stdout } = await clawloop(['turns', 'list', '--why', '--data-folder', folder]);
      return stdout.split('\n').find((line) => line.includes(id.slice(-8)) && line.includes(reason));
    });
  const ask = (words: string, format: object) =>
    client.chat.completions.create({
      model: 'clawloop',
      max_tokens: 60,
      temperature: 0,
      messages: [{ role: 'user', content: words }],
      ...format,
    });
  const held = await ask('Tell me of a trip.', { guided_choice: ['{"trip": 1}'] });
  expect(held.choices[0]!.message.content).toBe('{"trip": 1}');
  await lineOf(held.id, 'constrained');
  const words = 'How do I pack for a weekend trip?';
  const free = await ask(words, { guided_regex: '[^\\0]*' }); // anything at all
  await client.chat.completions.create({
    model: 'clawloop',
    max_tokens: 20,
    messages: [
      { role: 'user', content: words },
      free.choices[0]!.message,
      { role: 'user', content: 'Perfect, thanks!' },
    ],
  });
  await lineOf(free.id, 'waiting');
});
