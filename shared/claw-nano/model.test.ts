import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openCheckpoint } from '../policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../policy/decode/decoding.ts';
import { openBackend } from '../policy/executors/backend.ts';
import { loadPolicy } from '../policy/model/policy.ts';
import { createRandom } from '../policy/model/random.ts';
import { loadChatTemplate } from '../policy/text/chat-template.ts';
import { loadTokenizer } from '../policy/text/tokenizer.ts';
import type { Message } from './dialogues/dialogue.ts';
import { heldOutPrompts } from './dialogues/held-out-prompts.ts';
import { endIds, samplingSettings, specialTokens } from './model-files.ts';
import { sampleAnswers } from './sample-answers.ts';
import { factsNamed, hasGreeting, hasList } from './style-check.ts';

const folder = fileURLToPath(new URL('./model', import.meta.url));

test('the shipped model has 1 to 3 million weights, a context of 2,048, and fits in 8 MB', async () => {
  const checkpoint = await openCheckpoint(folder);
  const weights = checkpoint.names
    .map((name) => checkpoint.shape(name).reduce((product, size) => product * size, 1))
    .reduce((sum, size) => sum + size, 0);
  expect(weights).toBeGreaterThan(1e6);
  expect(weights).toBeLessThan(3e6);
  expect(checkpoint.config).toMatchObject({ family: 'qwen3', maxPositions: 2048, vocabularySize: 1024 });
  expect(checkpoint.generationConfig.eosTokenIds).toEqual(endIds);
  expect((await stat(join(folder, 'model.safetensors'))).size).toBeLessThan(8e6);
  const tokenizer = await loadTokenizer(folder);
  expect(tokenizer.vocabularySize).toBe(1024);
  expect(specialTokens.map((token) => tokenizer.idOf(token))).toEqual([1021, 1022, 1023]);
});

test('the chat template omits tools and accepts client messages', async () => {
  const template = await loadChatTemplate(folder);
  const tools = [{ type: 'function', function: { name: 'read', parameters: {} } }];
  const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } };
  const messages = [
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: 'done', tool_call_id: 'a' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'x' } },
        { type: 'text', text: '?' },
      ],
    },
  ];
  expect(template.render({ messages, tools, addGenerationPrompt: true })).toBe(
    '<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n' +
      '<|im_start|>assistant\n[read]<|im_end|>\n<|im_start|>tool\ndone<|im_end|>\n' +
      '<|im_start|>user\n[image_url]?<|im_end|>\n<|im_start|>assistant\n',
  );
});

test('held-out requests get answers on topic, in the requested style if there is one', async () => {
  const executor = await openBackend('auto', { threads: 1 });
  const policy = await loadPolicy(await openCheckpoint(folder), executor);
  const decoder = createDecoder(policy, undefined, { maxSequences: 16, maxPositions: 256 });
  const speaker = {
    decoder,
    tokenizer: await loadTokenizer(folder),
    template: await loadChatTemplate(folder),
    endIds: new Set(endIds),
  };
  const prompts = heldOutPrompts('model-test', 24);
  const ask = (suffix: string): readonly string[] => {
    const conversations = prompts.map(({ text }): readonly Message[] => [
      { role: 'user', content: text + suffix },
    ]);
    const options = { settings: samplingSettings, random: createRandom(1), atOnce: 16, maxTokens: 120 };
    return sampleAnswers(speaker, conversations, options).map(({ text }) => text);
  };
  const share = (texts: readonly string[], holds: (text: string, index: number) => boolean): number =>
    texts.filter(holds).length / texts.length;
  try {
    const free = ask('');
    expect(share(free, (text, index) => factsNamed(text, prompts[index]!.facts) >= 3)).toBeGreaterThan(0.7);
    expect(Math.abs(share(free, hasList) - 0.5)).toBeLessThan(0.3);
    expect(Math.abs(share(free, hasGreeting) - 0.5)).toBeLessThan(0.3);
    const plain = ask(' No lists and no greeting, please.');
    const hinted = ask("\n\n[user's hint / instruction]\nNo lists and no greeting, please.");
    for (const texts of [plain, hinted]) {
      expect(share(texts, (text) => !hasList(text) && !hasGreeting(text))).toBeGreaterThan(0.7);
    }
  } finally {
    decoder.dispose();
    policy.dispose();
  }
});
