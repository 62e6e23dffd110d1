import OpenAI from 'openai';
import PQueue from 'p-queue';
import { type RoutingQuestion, toolNames } from './routing-questions.ts';

/** requests sent at the same time, so that they are generated as one batch */
const AT_ONCE = 8;

/**
 * The share of questions for which a version prefers the right tool. Asks for the pinned version, at temperature 0:
 * nothing is collected, and nothing is sampled.
 */
export async function shareRouted(
  url: string,
  version: number,
  questions: readonly RoutingQuestion[],
): Promise<number> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 5 });
  const model = version === 0 ? 'clawloop@base' : `clawloop@v${version}`;
  const queue = new PQueue({ concurrency: AT_ONCE });
  const guarded = { guided_choice: toolNames };
  const right = await queue.addAll(
    questions.map(({ question, tool }) => async () => {
      const completion = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content: question }],
        max_tokens: 8,
        temperature: 0,
        ...guarded,
      });
      return completion.choices[0]?.message.content === tool;
    }),
  );
  return right.filter(Boolean).length / questions.length;
}
