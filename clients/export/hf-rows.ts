import { contentText } from '../../shared/chat/message.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { EndedSession } from './session-index.ts';
import type { ExportNode } from './session-nodes.ts';
import { textNodes } from './text-nodes.ts';

/** All fields are always there, so that every file gives the same columns. */
type Message = {
  readonly role: string;
  readonly content: string;
  readonly reasoning_content: string | null;
  readonly name: string | null;
  readonly tool_call_id: string | null;
  readonly tool_calls:
    | readonly {
        readonly id: string | null;
        readonly type: 'function';
        readonly function: { readonly name: string; readonly arguments: string };
      }[]
    | null;
};

/** A row for Hugging Face `datasets`: one answer, as prompt and completion in the conversational form of TRL. */
export type HfRow = {
  readonly id: string;
  readonly session_id: string;
  readonly task: string | null;
  readonly turn: 'main' | 'side';
  readonly model: string;
  readonly adapter: string;
  /** policy version that answered */
  readonly version: number;
  readonly prompt: readonly Message[];
  /** one message */
  readonly completion: readonly Message[];
  /** functions as JSON text, because every function has a schema of its own */
  readonly tools: string | null;
  /** return along the tree; null: its session has no reward */
  readonly reward: number | null;
  /** reward as set */
  readonly own_reward: number | null;
  readonly advantage: number | null;
  /** whether the return is above 0; null: it is 0, or there is none */
  readonly label: boolean | null;
  readonly prompt_ids: readonly number[] | null;
  readonly completion_ids: readonly number[] | null;
  readonly logprobs: readonly number[] | null;
  readonly temperature: number;
  readonly finish_reason: string;
  readonly not_trained: string | null;
};

export function exportHfRows(
  session: Pick<EndedSession, 'session' | 'task'>,
  all: readonly ExportNode[],
): { readonly lines: readonly HfRow[]; readonly leftOut: number; readonly withSecrets: number } {
  const { nodes, leftOut, withSecrets } = textNodes(all);
  return { lines: nodes.map((node) => rowOf(session, node)), leftOut, withSecrets };
}

function rowOf({ session, task }: Pick<EndedSession, 'session' | 'task'>, node: ExportNode): HfRow {
  const { turn, data, own, earned, advantage, isSide } = node;
  const { tokens, tools } = data;
  return {
    id: turn.id,
    session_id: session,
    task,
    turn: isSide ? 'side' : 'main',
    model: data.model,
    adapter: data.adapter,
    version: data.version,
    prompt: data.messages.map(messageOf),
    completion: [messageOf(data.answer)],
    tools: tools === undefined || tools.length === 0 ? null : JSON.stringify(tools),
    reward: earned,
    own_reward: own,
    advantage,
    label: earned === null || earned === 0 ? null : earned > 0,
    prompt_ids: tokens?.promptIds ?? null,
    completion_ids: tokens?.responseIds ?? null,
    logprobs: tokens?.logProbs ?? null,
    temperature: data.sampling.temperature,
    finish_reason: data.finishReason,
    not_trained: turn.reason,
  };
}

const messageOf = ({
  role,
  content,
  reasoning_content,
  name,
  tool_call_id,
  tool_calls,
}: ChatMessage): Message => ({
  role,
  content: contentText(content),
  reasoning_content: reasoning_content ?? null,
  name: name ?? null,
  tool_call_id: tool_call_id ?? null,
  tool_calls:
    tool_calls === undefined || tool_calls.length === 0
      ? null
      : tool_calls.map(({ id, function: called }) => ({
          id: id ?? null,
          type: 'function',
          function: { name: called.name, arguments: called.arguments },
        })),
});
