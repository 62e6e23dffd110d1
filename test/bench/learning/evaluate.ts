import { heldOutPrompts } from '../../../shared/policy/claw-nano/dialogues/held-out-prompts.ts';
import type { Question, Reply } from './model.ts';
import type { BenchTaste } from './tastes.ts';

/** Shares of answers to held-out prompts. */
export type Evaluation = {
  readonly answers: number;
  readonly met: number;
  /** names three or more of the topic's items: what is said must survive how it is said */
  readonly onTopic: number;
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
  const part = (count: number) => Number((count / answers).toFixed(4));
  return {
    answers,
    met: part(replies.filter(({ text }) => taste.complaints(text).length === 0).length),
    onTopic: part(named.filter((count) => count >= 3).length),
    facts: part(named.reduce((sum, count) => sum + count, 0)),
  };
}
