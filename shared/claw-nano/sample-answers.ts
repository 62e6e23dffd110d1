import type { Decoder } from '../policy/decode/decoding.ts';
import { type SamplingSettings, sampleToken } from '../policy/decode/sampling.ts';
import type { Random } from '../policy/model/random.ts';
import type { ChatTemplate } from '../policy/text/chat-template.ts';
import type { Tokenizer } from '../policy/text/tokenizer.ts';
import type { Message } from './dialogues/dialogue.ts';

export type Speaker = {
  readonly decoder: Pick<Decoder, 'admit' | 'step' | 'release'>;
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  readonly endIds: ReadonlySet<number>;
};

type SampleOptions = {
  readonly settings: SamplingSettings;
  readonly random: Random;
  /** Number of answers that are generated at the same time. */
  readonly atOnce: number;
  readonly maxTokens: number;
};

export type SampledAnswer = { readonly text: string; readonly ended: boolean };

type Running = { readonly index: number; readonly slot: number; readonly ids: number[]; next: number };

/** Samples one answer to each conversation, `atOnce` at a time: when an answer ends, the next takes its slot. */
export function sampleAnswers(
  { decoder, tokenizer, template, endIds }: Speaker,
  conversations: readonly (readonly Message[])[],
  { settings, random, atOnce, maxTokens }: SampleOptions,
): readonly SampledAnswer[] {
  const answers: SampledAnswer[] = [];
  const waiting = conversations.map((messages, index) => ({ messages, index })).reverse();
  let running: readonly Running[] = [];
  const sample = (logits: Float32Array): number => sampleToken(logits, settings, random).id;
  const admit = (): Running | undefined => {
    const conversation = waiting.pop();
    if (conversation === undefined) return undefined;
    const { messages, index } = conversation;
    const prompt = tokenizer.encode(template.render({ messages, addGenerationPrompt: true }));
    const { slot, logits } = decoder.admit(prompt);
    return { index, slot, ids: [], next: sample(logits) };
  };
  for (;;) {
    const kept: Running[] = [];
    for (const answer of running) {
      if (endIds.has(answer.next) || answer.ids.length >= maxTokens) {
        decoder.release(answer.slot);
        answers[answer.index] = { text: tokenizer.decode(answer.ids), ended: endIds.has(answer.next) };
      } else kept.push(answer);
    }
    while (kept.length < atOnce) {
      const admitted = admit();
      if (admitted === undefined) break;
      kept.push(admitted);
    }
    if (kept.length === 0) return answers;
    const ongoing = kept.filter(({ next }) => !endIds.has(next));
    const logits =
      ongoing.length === 0 ? [] : decoder.step(ongoing.map(({ slot, next: id }) => ({ slot, id })));
    ongoing.forEach((answer, row) => {
      answer.ids.push(answer.next);
      answer.next = sample(logits[row]!);
    });
    running = kept;
  }
}
