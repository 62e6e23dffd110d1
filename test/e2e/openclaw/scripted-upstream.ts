import type { ServerResponse } from 'node:http';
import { contentText, isHuman } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  upstreamDouble,
  usageFrame,
} from '../serving-upstream-double.ts';
import { type Asked, askedFor } from './what-is-asked.ts';

/** A received request and its outcome. */
export type Served = Asked & {
  /** counts from 1; it is the first prompt token in the token record of the answer */
  readonly n: number;
  /** a busy upstream says 503, a broken one ends its stream in the middle */
  readonly outcome: 'answered' | 'busy' | 'cut';
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly messages: readonly ChatMessage[];
};

export type ScriptedUpstream = {
  /** with its /v1 */
  readonly url: string;
  readonly served: readonly Served[];
  readonly close: () => Promise<void>;
};

type Tool = { readonly function: { readonly name: string } };
type Body = { readonly messages: readonly ChatMessage[]; readonly tools?: readonly Tool[] };
type Call = { readonly name: string; readonly arguments: object };

/**
 * A model behind an OpenAI-compatible endpoint that follows the person's words. Parts between backticks are the tools
 * to call (`read FILE`, `write FILE TEXT`, `exec COMMAND`, `spawn TASK`), "busy once" and "cut once" make it fail the
 * first time, "think first" makes it answer with reasoning alone. Each answer has token ids and log-probs, as from
 * vLLM.
 */
export async function scriptedUpstream(): Promise<ScriptedUpstream> {
  const double = await upstreamDouble();
  const served: Served[] = [];
  double.script(({ body, headers }, response) => {
    const { messages, tools = [] } = body as unknown as Body;
    const asked = askedFor(messages);
    const again = served.some(({ words, outcome }) => words === asked.words && outcome !== 'answered');
    const outcome = again ? 'answered' : failure(asked);
    const n = served.length + 1;
    served.push({ ...asked, n, outcome, headers, messages });
    if (outcome === 'busy') {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'the model is busy' } }));
      return;
    }
    const promptTokens = Math.ceil(JSON.stringify(body).length / 4);
    answer(response, n, outcome === 'cut', promptTokens, reply(asked, messages, tools));
  });
  return { url: double.url, served, close: double.close };
}

const failure = ({ kind, words }: Asked): Served['outcome'] => {
  if (kind !== 'conversation') return 'answered';
  return words.includes('busy once') ? 'busy' : words.includes('cut once') ? 'cut' : 'answered';
};

type Reply = { readonly text?: string; readonly reasoning?: string; readonly calls?: readonly Call[] };

function reply({ kind, words }: Asked, messages: readonly ChatMessage[], tools: readonly Tool[]): Reply {
  const since = messages.slice(messages.findLastIndex((one) => isHuman(one) && userWords(one) !== '') + 1);
  const results = since.filter(({ role }) => role === 'tool');
  switch (kind) {
    case 'memory-flush':
    case 'heartbeat':
      return { text: 'NO_REPLY' };
    case 'compaction':
      return { text: `## Decisions\n${lastSaid(messages)} was among what the two talked about.` };
    case 'recap':
      return { text: 'They talk about house and garden.' };
    case 'title':
      return { text: 'House and garden' };
    case 'repair':
      return { text: 'Here is the answer that was missing.' };
    default: {
      if (words.includes('think first') && results.length === 0)
        return { reasoning: 'There is a lot to weigh here.' };
      const calls = results.length > 0 ? [] : callsIn(words).flatMap((call) => offered(call, tools));
      if (calls.length > 0) return { calls };
      const outputs = results.map(({ content }) => contentText(content).slice(0, 40)).join('; ');
      return { text: `Understood, number ${messages.length}: ${words.slice(0, 40)} ${outputs}`.trim() };
    }
  }
}

const lastSaid = (messages: readonly ChatMessage[]): string =>
  /\[User\]: (.*)/.exec(messages.map(({ content }) => contentText(content)).join('\n'))?.[1] ?? 'Nothing';

/** A tool that is not shown in full is called through another tool. No call if there are no tools. */
function offered(call: Call, tools: readonly Tool[]): readonly Call[] {
  const has = (name: string) => tools.some((tool) => tool.function.name === name);
  if (has(call.name)) return [call];
  return has('tool_call') ? [{ name: 'tool_call', arguments: { id: call.name, args: call.arguments } }] : [];
}

/** The tool calls between backticks. */
function callsIn(words: string): readonly Call[] {
  return [...words.matchAll(/`(\w+) ([^`]*)`/g)].map(([, name, rest]): Call => {
    const [first = '', ...others] = rest!.split(' ');
    switch (name) {
      case 'read':
        return { name: 'read', arguments: { path: rest } };
      case 'write':
        return { name: 'write', arguments: { path: first, content: others.join(' ') } };
      case 'spawn':
        return { name: 'sessions_spawn', arguments: { task: rest } };
      default:
        return { name: 'exec', arguments: { command: rest } };
    }
  });
}

function answer(response: ServerResponse, n: number, cut: boolean, promptTokens: number, said: Reply): void {
  const { text, reasoning, calls } = said;
  const parts: object[] = [];
  if (reasoning !== undefined) parts.push({ reasoning_content: reasoning });
  for (const piece of text?.match(/\S+\s*/g) ?? []) parts.push({ content: piece });
  if (calls !== undefined)
    parts.push({
      tool_calls: calls.map(({ name, arguments: given }, index) => ({
        index,
        id: `call_${n}_${index}`,
        type: 'function',
        function: { name, arguments: JSON.stringify(given) },
      })),
    });
  const frames = parts.map((delta, index) =>
    deltaFrame(
      delta as Readonly<Record<string, unknown>>,
      { token_ids: [index + 1], logprobs: { content: [{ token: `${index}`, logprob: -0.5 }] } },
      index === 0 ? { prompt_token_ids: [n, ...Array(promptTokens - 1).fill(0)] } : {},
    ),
  );
  if (cut) sendFrames(response, frames.slice(0, 2), false);
  else {
    const finish = finishFrame(calls === undefined ? 'stop' : 'tool_calls');
    sendFrames(response, [...frames, finish, usageFrame(promptTokens, frames.length)]);
  }
}
