import OpenAI from 'openai';
import type { Agent } from '../../../clients/rollout/contract.ts';

type Task = {
  readonly question: string;
  /** attempts that fail after their request */
  readonly throws?: number;
  readonly hangs?: number;
};

/** Sends one request. One attempt then throws, and one hangs even after its signal aborts. */
export const agent: Agent<Task, string> = async ({ task, baseUrl, apiKey, seed, signal, attempt }) => {
  const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
  const completion = await client.chat.completions.create(
    { model: 'clawloop', seed, messages: [{ role: 'user', content: task.question }], max_tokens: 200 },
    { signal },
  );
  if (attempt === task.throws) throw new Error('the tool broke');
  if (attempt === task.hangs) await new Promise(() => setInterval(() => {}, 60_000));
  return completion.choices[0]?.message.content ?? '';
};
