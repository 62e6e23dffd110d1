import OpenAI from 'openai';
import type { Agent } from '../../clients/rollout/contract.ts';

type Task = { readonly question: string };

/** What the agent did with a question. */
export type Routed = { readonly tool: string; readonly answer: string };

/** The highest of the chat API: a policy that always chooses the same tool never learns what another would earn. */
const TEMPERATURE = 2;

/** Asks the model for the name of a tool, and passes the question on to that tool. */
export const agent: Agent<Task, Routed> = async ({ task, environment, baseUrl, apiKey, seed, signal }) => {
  if (environment === undefined)
    throw new Error('this agent needs --env mcp:examples/tool-routing/servers.json');
  const { messages, tools } = environment;
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey });
  const guarded = { guided_choice: tools.map((tool) => tool.function.name) };
  const completion = await client.chat.completions.create(
    { model: 'clawloop', messages: [...messages], temperature: TEMPERATURE, seed, max_tokens: 8, ...guarded },
    { signal },
  );
  const tool = completion.choices[0]?.message.content ?? '';
  const call = { id: 'call', name: tool, arguments: { question: task.question } };
  const { content } = await environment.act(call, signal);
  return { tool, answer: content };
};
