import OpenAI from 'openai';
import type { Agent } from '../../clients/rollout/contract.ts';

type Task = { readonly question: string };

/**
 * Answers, and then says the same in fewer words: two turns through the official client, which knows nothing
 * of the rollout. What is said with the attempt's key belongs to its session.
 */
export const agent: Agent<Task, string> = async ({ task, baseUrl, apiKey, seed, signal }) => {
  const client = new OpenAI({ baseURL: baseUrl, apiKey });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: task.question }];
  const answer = await say();
  messages.push({ role: 'assistant', content: answer });
  messages.push({ role: 'user', content: 'Say that again in fewer words, without a list.' });
  return await say();

  async function say(): Promise<string> {
    const completion = await client.chat.completions.create(
      { model: 'clawloop', messages, seed, temperature: 1 },
      { signal },
    );
    return completion.choices[0]?.message.content ?? '';
  }
};
