import { heldOutPrompts } from '../../../shared/policy/claw-nano/dialogues/held-out-prompts.ts';
import type { Question, Reply } from './model.ts';
import type { BenchTaste } from './tastes.ts';

/** Shares of answers to held-out prompts. */
export type Evaluation = {
  readonly answers: number;
  readonly met: number;
  /** names three or more of the topic's items: what is said must survive how it is said */
  readonly onTopic: number;
  /** the same among the answers that meet the taste: what the taste itself costs; null: none does */
  readonly onTopicWhenMet: number | null;
  /** mean number of the topic's items named */
  readonly facts: number;
};

/** Different held-out prompts; beyond that they are asked again, with other numbers. */
const PROMPTS = 64;

type Asked = { readonly ask: (questions: readonly Question[]) => readonly Reply[] };

/** The same questions and seeds for every version: what differs is the policy. */
export function evaluate(
  { ask }: Asked,
  taste: BenchTaste,
  seed: number | string,
  answers: number,
): Evaluation {
  const prompts = heldOutPrompts(seed, Math.min(PROMPTS, answers));
  const asked = Array.from({ length: answers }, (_, index) => prompts[index % prompts.length]!);
  const replies = ask(
    asked.map(({ text }, index) => ({
      messages: [{ role: 'user', content: text }],
      seed: `held-out/${seed}/${index}`,
    })),
  );
  const named = replies.map(({ text }, index) => {
    const words = text.toLowerCase();
    return asked[index]!.facts.filter((fact) => words.includes(fact.toLowerCase())).length;
  });
  const isMet = replies.map(({ text }) => taste.complaints(text).length === 0);
  const ofMet = named.filter((_, index) => isMet[index]);
  const part = (count: number, of = answers) => Number((count / of).toFixed(4));
  const onTopic = (counts: readonly number[]) => counts.filter((count) => count >= 3).length;
  return {
    answers,
    met: part(ofMet.length),
    onTopic: part(onTopic(named)),
    onTopicWhenMet: ofMet.length === 0 ? null : part(onTopic(ofMet), ofMet.length),
    facts: part(named.reduce((sum, count) => sum + count, 0)),
  };
}
