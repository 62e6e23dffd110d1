import type { AgentInput, RewardInput } from '../../../clients/rollout/contract.ts';

/** The observations of each attempt after its answers, and its reward. */
type Task = { readonly attempts: readonly { readonly shows: readonly string[]; readonly reward: number }[] };

type Message = { readonly role: string; readonly content: string };

/** Answers once, and once more after each observation. */
export async function agent({ task, baseUrl, apiKey, attempt, signal }: AgentInput<Task>): Promise<number> {
  const { shows, reward } = task.attempts[attempt]!;
  const messages: Message[] = [{ role: 'user', content: 'Find the way out.' }];
  for (const shown of [...shows, undefined]) {
    const response = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'clawloop', messages }),
      signal,
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const { choices } = (await response.json()) as { readonly choices: readonly [{ message: Message }] };
    if (shown !== undefined) messages.push(choices[0].message, { role: 'user', content: shown });
  }
  return reward;
}

export const reward = ({ result }: RewardInput<Task, number>): number => result;
