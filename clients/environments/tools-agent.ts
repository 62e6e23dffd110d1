import { isObject, parseJson } from '../../shared/lang/json.ts';
import type { Agent } from '../rollout/contract.ts';
import { type AssistantMessage, complete, type Message, type ToolCall } from './chat-completions.ts';
import type { Action, OpenEnvironment } from './environment.ts';

/** Why an attempt ended. All but `answer` and `done` mean that the policy used up a budget. */
type Ended = 'answer' | 'done' | 'steps' | 'context' | 'length';

/** What the agent returns; the results file shows it. */
type ToolsResult = { readonly ended: Ended; readonly steps: number; readonly answer: string };

export type ToolsAgentSettings = {
  /** answers of the policy per attempt */
  readonly maxSteps: number;
  /** name of the model in requests */
  readonly model: string;
};

/**
 * An agent that answers in a loop: each call is carried out in the environment, and its result is the next
 * message. It ends with an answer without calls, when the environment is done, or when a budget is used up.
 */
export const toolsAgent =
  ({ maxSteps, model }: ToolsAgentSettings): Agent<unknown, ToolsResult> =>
  async ({ environment, baseUrl, apiKey, seed, signal }) => {
    if (environment === undefined) throw new Error('the agent `tools` needs --env');
    const messages: Message[] = [...environment.messages];
    let answer = '';
    for (let step = 0; step < maxSteps; step++) {
      const completed = await complete(
        { baseUrl, apiKey },
        { model, messages, tools: environment.tools, seed: seed + step },
        signal,
      );
      if (completed === 'context-full') return { ended: 'context', steps: step, answer };
      const { message, isCut } = completed;
      messages.push(message);
      answer = message.content ?? '';
      const after = environment.takesText
        ? await say(environment, answer, step, signal)
        : await callAll(environment, message, step, signal);
      messages.push(...after.messages);
      if (after.isDone) return { ended: 'done', steps: step + 1, answer };
      if (after.messages.length === 0) return { ended: isCut ? 'length' : 'answer', steps: step + 1, answer };
    }
    return { ended: 'steps', steps: maxSteps, answer };
  };

type After = { readonly messages: readonly Message[]; readonly isDone: boolean };

async function say(
  environment: OpenEnvironment,
  text: string,
  step: number,
  signal: AbortSignal,
): Promise<After> {
  const { content, isDone } = await environment.act(
    { id: `say-${step}`, name: 'say', arguments: { text } },
    signal,
  );
  return { messages: [{ role: 'user', content }], isDone };
}

/** Carries out the calls of an answer in order, up to the one that ends the episode. */
async function callAll(
  environment: OpenEnvironment,
  { tool_calls: calls = [] }: AssistantMessage,
  step: number,
  signal: AbortSignal,
): Promise<After> {
  const messages: Message[] = [];
  for (const [index, { id, function: called }] of calls.entries()) {
    const action = readCall(environment, called);
    // Some engines number the calls of each answer from 0 again, so their ids are not unique.
    const { content, isDone } =
      'refusal' in action
        ? { content: action.refusal, isDone: false }
        : await environment.act({ id: `${step}/${index}`, ...action }, signal);
    messages.push({ role: 'tool', tool_call_id: id, content });
    if (isDone) return { messages, isDone };
  }
  return { messages, isDone: false };
}

/** A call that cannot be carried out is the policy's mistake: it sees the reason, and may continue. */
function readCall(
  { tools }: OpenEnvironment,
  { name, arguments: text }: ToolCall['function'],
): Omit<Action, 'id'> | { readonly refusal: string } {
  const names = tools.map((tool) => tool.function.name);
  if (!names.includes(name)) return { refusal: `There is no tool '${name}'. Tools: ${names.join(', ')}.` };
  const parsed = text.trim() === '' ? {} : parseJson(text);
  return isObject(parsed) ? { name, arguments: parsed } : { refusal: 'The arguments are not a JSON object.' };
}
