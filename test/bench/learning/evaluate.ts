import { type HeldOutPrompt, heldOutPrompts } from '../../../shared/claw-nano/dialogues/held-out-prompts.ts';
import type { Question, Reply } from './model.ts';
import type { BenchTaste } from './tastes.ts';

/** Shares of answers to held-out prompts. */
export type Evaluation = {
  readonly answers: number;
  readonly met: number;
  /** names three or more of the topic's items: a taste must not cost the content */
  readonly onTopic: number;
  /** the same among the answers that meet the taste: what the taste itself costs; null: none does */
  readonly onTopicWhenMet: number | null;
  /** mean number of the topic's items named */
  readonly facts: number;
  /** different answers among those to different prompts */
  readonly distinct: number;
};

/** Number of different held-out prompts; further questions repeat them with other numbers. */
const PROMPTS = 64;
/** Items that an answer on topic names at least. */
export const ON_TOPIC = 3;

type Asked = { readonly ask: (questions: readonly Question[]) => readonly Reply[] };

/** Held-out questions in the requested number, with the same seeds for every version. */
export function heldOutQuestions(seed: number | string, answers: number) {
  const prompts = heldOutPrompts(seed, Math.min(PROMPTS, answers));
  const asked = Array.from({ length: answers }, (_, index) => prompts[index % prompts.length]!);
  const questions = asked.map(
    ({ text }, index): Question => ({
      messages: [{ role: 'user', content: text }],
      seed: `held-out/${seed}/${index}`,
    }),
  );
  return { asked, questions };
}

/** The questions and seeds are the same for every version; only the policy differs. */
export function evaluate(
  { ask }: Asked,
  taste: Pick<BenchTaste, 'complaints'>,
  seed: number | string,
  answers: number,
): Evaluation {
  const { asked, questions } = heldOutQuestions(seed, answers);
  const texts = ask(questions).map(({ text }) => text);
  return gradeAnswers(asked, texts, taste);
}

/** An answer for each question. */
export function gradeAnswers(
  asked: readonly HeldOutPrompt[],
  texts: readonly string[],
  taste: Pick<BenchTaste, 'complaints'>,
): Evaluation {
  const answers = asked.length;
  const named = texts.map((text, index) => factsNamed(text, asked[index]!.facts));
  const isMet = texts.map((text) => taste.complaints(text).length === 0);
  const ofMet = named.filter((_, index) => isMet[index]);
  const part = (count: number, of = answers) => Number((count / of).toFixed(4));
  const onTopic = (counts: readonly number[]) => counts.filter((count) => count >= ON_TOPIC).length;
  return {
    answers,
    met: part(ofMet.length),
    onTopic: part(onTopic(named)),
    onTopicWhenMet: ofMet.length === 0 ? null : part(onTopic(ofMet), ofMet.length),
    facts: part(named.reduce((sum, count) => sum + count, 0)),
    distinct: part(new Set(texts).size),
  };
}

/** How many of the topic's items an answer names. */
export function factsNamed(answer: string, facts: readonly string[]): number {
  const words = answer.toLowerCase();
  return facts.filter((fact) => words.includes(fact.toLowerCase())).length;
}
