import type { Agent, RewardFunction } from '../../../clients/rollout/contract.ts';

type Task = { readonly question: string };
type Message = { readonly role: string; readonly content: string };

/** Asks a question, and twice for fewer words. */
export const agent: Agent<Task, string> = async ({ task, baseUrl, apiKey, seed, signal }) => {
  const messages: Message[] = [];
  for (const content of [task.question, 'Say that in fewer words.', 'And in one sentence?']) {
    messages.push({ role: 'user', content });
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'clawloop', messages, seed, temperature: 1, max_tokens: 60 }),
      signal,
    });
    const { choices } = (await response.json()) as { choices: { message: Message }[] };
    messages.push({ role: 'assistant', content: choices[0]!.message.content });
  }
  return messages.at(-1)!.content;
};

export const reward: RewardFunction<Task, string> = ({ result }) => Math.max(-1, 1 - result.length / 100);
