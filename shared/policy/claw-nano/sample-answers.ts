import type { ChatTemplate } from '../chat-template.ts';
import type { Decoder } from '../decoding.ts';
import type { Random } from '../random.ts';
import { type SamplingSettings, sampleToken } from '../sampling.ts';
import type { Tokenizer } from '../tokenizer.ts';
import type { Message } from './dialogues/dialogue.ts';

export type Speaker = {
  readonly decoder: Pick<Decoder, 'admit' | 'step' | 'release'>;
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  readonly endIds: ReadonlySet<number>;
};

export type SampleOptions = {
  readonly settings: SamplingSettings;
  readonly random: Random;
  /** Answers generated side by side. */
  readonly atOnce: number;
  readonly maxTokens: number;
};

export type SampledAnswer = { readonly text: string; readonly ended: boolean };

type Running = { readonly index: number; readonly slot: number; readonly ids: number[]; next: number };

/** One answer to each conversation, a few at a time: when one ends, the next begins in its place. */
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
