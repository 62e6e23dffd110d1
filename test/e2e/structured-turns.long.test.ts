import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';

// Turns with a required format train only if their choices are recorded.

let folder: string;
let loop: ClawLoop;
vi.setConfig({ testTimeout: 400_000 });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-formats-'));
  loop = await startClawLoop(folder, ['--collector-batch-size', '2']);
});
afterAll(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a choice among a few allowed tokens trains; a text from which tokens were excluded does not', async () => {
  const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const lineOf = (id: string, reason: string) =>
    until(`${id} is ${reason}`, async () => {
      const { stdout } = await clawloop(['turns', 'list', '--why', '--data-folder', folder]);
      return stdout.split('\n').find((line) => line.includes(id.slice(-8)) && line.includes(reason));
    });
  const ask = (words: string, format: object) =>
    client.chat.completions.create({
      model: 'clawloop',
      max_tokens: 160, // an answer that is cut off does not train
      temperature: 0,
      messages: [{ role: 'user', content: words }],
      ...format,
    });
  const praised = async (words: string, format: object) => {
    const answer = await ask(words, format);
    await client.chat.completions.create({
      model: 'clawloop',
      max_tokens: 20,
      messages: [
        { role: 'user', content: words },
        answer.choices[0]!.message,
        { role: 'user', content: 'Perfect, thanks!' },
      ],
    });
    return answer;
  };
  const without = await ask('Tell me of a trip.', { guided_regex: '[^e]*' });
  await lineOf(without.id, 'constrained');
  const free = await praised('How do I pack for a weekend trip?', { guided_regex: '[^\\0]*' }); // anything at all
  const chosen = await praised('Tell me of a trip by train.', {
    guided_choice: ['{"trip": 1}', '{"trip": 2}'],
  });
  expect(chosen.choices[0]!.message.content).toMatch(/^\{"trip": [12]\}$/);
  await lineOf(free.id, 'trained');
  await lineOf(chosen.id, 'trained');
  const { stdout } = await clawloop(['replay', '--data-folder', folder]);
  expect(stdout).toMatch(/ 0 different, 0 not covered/);
});
