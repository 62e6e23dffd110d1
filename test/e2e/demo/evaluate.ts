import OpenAI from 'openai';
import PQueue from 'p-queue';
import { heldOutPrompts } from '../../../shared/claw-nano/dialogues/held-out-prompts.ts';
import { checkTaste } from './taste.ts';

export const HELD_OUT_PROMPTS = 32;
/** requests sent at the same time, so that they are generated as one batch */
const AT_ONCE = 8;

export type Share = {
  readonly version: number;
  readonly met: number;
  readonly list: number;
  readonly greeting: number;
  /** share of the answers that name two or more of the topic's items: a taste must not cost the content */
  readonly content: number;
  /** an example answer of the version */
  readonly example: string;
};

/**
 * The share of a version's answers to the held-out prompts that meet the taste. Asks for the pinned version:
 * nothing is collected.
 */
export async function evaluateVersion(url: string, version: number, seed: number): Promise<Share> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 5 });
  const model = version === 0 ? 'clawloop@base' : `clawloop@v${version}`;
  const queue = new PQueue({ concurrency: AT_ONCE });
  const prompts = heldOutPrompts(seed, HELD_OUT_PROMPTS);
  const answers = await queue.addAll(
    prompts.map(({ text }, index) => async () => {
      const completion = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content: text }],
        max_tokens: 120,
        seed: seed * 1000 + index,
      });
      return completion.choices[0]?.message.content ?? '';
    }),
  );
  const verdicts = answers.map(checkTaste);
  const named = answers.map((answer, index) => {
    const words = answer.toLowerCase();
    return prompts[index]!.facts.filter((fact) => words.includes(fact.toLowerCase())).length;
  });
  const share = (holds: (verdict: (typeof verdicts)[number]) => boolean) =>
    verdicts.filter(holds).length / verdicts.length;
  return {
    version,
    met: share(({ met }) => met),
    list: share(({ list }) => list),
    greeting: share(({ greeting }) => greeting),
    content: named.filter((count) => count >= 2).length / named.length,
    example: answers[0] ?? '',
  };
}
