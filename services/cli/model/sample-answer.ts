import type { Checkpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../../shared/policy/decode/decoding.ts';
import { sampleToken } from '../../../shared/policy/decode/sampling.ts';
import type { Executor } from '../../../shared/policy/executors/executor.ts';
import { loadPolicy } from '../../../shared/policy/model/policy.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import type { ChatTemplate, TemplateMessage } from '../../../shared/policy/text/chat-template.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';

export const sampleChat: readonly TemplateMessage[] = [
  { role: 'user', content: 'What should I pack for a weekend trip?' },
];
const SEED = 1;

export type SampleAnswer = { readonly text: string; readonly tokens: number; readonly seconds: number };

/** The model's answer to a small chat, with its recommended sampling and a fixed seed. */
export async function sampleAnswer(
  checkpoint: Checkpoint,
  executor: Executor,
  { tokenizer, template }: { readonly tokenizer: Tokenizer; readonly template: ChatTemplate },
  maxTokens: number,
): Promise<SampleAnswer> {
  const policy = await loadPolicy(checkpoint, executor);
  const prompt = tokenizer.encode(template.render({ messages: sampleChat, addGenerationPrompt: true }));
  const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = checkpoint.generationConfig;
  const random = createRandom(SEED);
  const decoder = createDecoder(policy, undefined, {
    maxSequences: 1,
    maxPositions: prompt.length + maxTokens + 1,
  });
  const started = performance.now();
  const ids: number[] = [];
  let { slot, logits } = decoder.admit(prompt);
  while (ids.length < maxTokens) {
    const { id } = sampleToken(logits, { temperature, topP, topK }, random);
    if (eosTokenIds.includes(id)) break;
    ids.push(id);
    logits = decoder.step([{ slot, id }])[0]!;
  }
  const seconds = (performance.now() - started) / 1000;
  decoder.dispose();
  policy.dispose();
  return { text: tokenizer.decode(ids, { skipSpecial: true }), tokens: ids.length, seconds };
}
