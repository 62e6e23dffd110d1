import { contentText, isSystem } from '../../shared/chat/message.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { EndedSession } from './session-index.ts';
import type { ExportNode } from './session-nodes.ts';
import { pathTo, textNodes } from './text-nodes.ts';

type Observation = { readonly source_call_id?: string; readonly content: string };

type Step = {
  step_id: number;
  readonly timestamp: string;
  readonly source: 'system' | 'user' | 'agent';
  readonly message: string;
  readonly model_name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCall[];
  observation?: { readonly results: Observation[] };
  readonly metrics?: Readonly<Record<string, unknown>>;
  readonly is_copied_context?: true;
  readonly llm_call_count?: 1;
  readonly extra?: Readonly<Record<string, unknown>>;
};

type ToolCall = {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly extra?: { readonly arguments_text: string };
};

/** A trajectory in the Agent Trajectory Interchange Format, version 1.8. */
type Trajectory = {
  readonly schema_version: 'ATIF-v1.8';
  readonly session_id: string;
  readonly trajectory_id: string;
  readonly agent: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
  readonly final_metrics: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, unknown>>;
};

type Trajectories = {
  readonly lines: readonly Trajectory[];
  readonly leftOut: number;
  readonly withSecrets: number;
};

type Session = Pick<EndedSession, 'session' | 'task'>;

/** One trajectory per path of the conversation tree, from its root to a leaf, and per side request that was rewarded. */
export function exportTrajectories(session: Session, all: readonly ExportNode[]): Trajectories {
  const { nodes, leftOut, withSecrets } = textNodes(all);
  const inTree = withKeptParents(
    all,
    nodes.filter(({ isSide, earned }) => !isSide || earned !== null),
  );
  const byId = new Map(inTree.map((node) => [node.turn.id, node]));
  const parents = new Set(inTree.map(({ parent }) => parent));
  const leaves = inTree.filter(({ turn }) => !parents.has(turn.id));
  const lines = leaves.map((leaf) => trajectoryOf(session, pathTo(byId, leaf)));
  return { lines, leftOut, withSecrets };
}

/** The parent of a node is its nearest ancestor that is kept: an answer that was cut off may lie between them. */
function withKeptParents(all: readonly ExportNode[], kept: readonly ExportNode[]): readonly ExportNode[] {
  const byId = new Map(all.map((node) => [node.turn.id, node]));
  const ids = new Set(kept.map(({ turn }) => turn.id));
  return kept.map((node) => {
    const above = pathTo(byId, node).slice(0, -1);
    return { ...node, parent: above.findLast(({ turn }) => ids.has(turn.id))?.turn.id ?? null };
  });
}

function trajectoryOf({ session, task }: Session, path: readonly ExportNode[]): Trajectory {
  const last = path.at(-1)!;
  const steps = stepsOf(path);
  const total = (tokens: (node: ExportNode) => number | undefined) =>
    path.reduce((sum, node) => sum + (tokens(node) ?? 0), 0);
  const tools = last.data.tools?.filter((tool) => typeof tool === 'object' && tool !== null);
  return {
    schema_version: 'ATIF-v1.8',
    session_id: session,
    trajectory_id: last.turn.id,
    agent: {
      name: 'clawloop',
      version: '1', // of this export: the program that drove the session is unknown
      model_name: last.data.model,
      ...defined({ tool_definitions: tools?.length ? tools : undefined }),
    },
    steps,
    final_metrics: {
      total_prompt_tokens: total(({ data }) => data.usage.promptTokens),
      total_completion_tokens: total(({ data }) => data.usage.completionTokens),
      total_cached_tokens: total(({ data }) => data.usage.cachedPromptTokens),
      total_steps: steps.length,
    },
    extra: { task, adapter: last.data.adapter, return: path[0]!.earned },
  };
}

/** The new messages of each request, then its recorded answer. A rewritten history appears again, marked as copied. */
function stepsOf(path: readonly ExportNode[]): readonly Step[] {
  const steps: Step[] = [];
  const add = (step: Omit<Step, 'step_id'>) => steps.push({ step_id: steps.length + 1, ...step });
  for (const [index, node] of path.entries()) {
    const { messages, timing } = node.data;
    const before = path[index - 1]?.data.messages.length;
    const isContinued = before !== undefined && messages[before]?.role === 'assistant';
    const fresh = isContinued ? messages.slice(before + 1) : messages;
    const copied = before !== undefined && !isContinued;
    for (const message of fresh) addMessage(steps, add, message, { at: timing.startedAt, copied });
    add(answerStep(node));
  }
  return steps;
}

function addMessage(
  steps: readonly Step[],
  add: (step: Omit<Step, 'step_id'>) => void,
  message: ChatMessage,
  { at, copied }: { readonly at: string; readonly copied: boolean },
): void {
  const text = contentText(message.content);
  const common = {
    timestamp: at,
    message: text,
    ...defined({ is_copied_context: copied ? true : undefined }),
  } as const;
  if (message.role === 'tool') {
    addObservation(steps, add, message, at);
  } else if (message.role === 'assistant') {
    // an answer that this session did not record, such as the history that the client began with
    add({ ...common, source: 'agent', ...wordsOf(message) });
  } else add({ ...common, source: isSystem(message) ? 'system' : 'user' });
}

/** Results belong to the step that made the call. */
function addObservation(
  steps: readonly Step[],
  add: (step: Omit<Step, 'step_id'>) => void,
  { content, tool_call_id: id }: ChatMessage,
  at: string,
): void {
  const called = steps.findLast(({ tool_calls }) =>
    tool_calls?.some(({ tool_call_id }) => tool_call_id === id),
  );
  const result = { content: contentText(content), ...defined({ source_call_id: called && id }) };
  const target = called ?? steps.findLast(({ source }) => source === 'agent');
  if (target === undefined) {
    add({ timestamp: at, source: 'system', message: '', observation: { results: [result] } });
    return;
  }
  target.observation ??= { results: [] };
  target.observation.results.push(result);
}

function answerStep(node: ExportNode): Omit<Step, 'step_id'> {
  const { data, own, earned, advantage, turn } = node;
  const { tokens, timing, usage } = data;
  const end = new Date(Date.parse(timing.startedAt) + timing.totalMs).toISOString();
  const hasLogProbs = tokens !== null && tokens.logProbs.length === tokens.responseIds.length;
  return {
    timestamp: end,
    source: 'agent',
    message: contentText(data.answer.content),
    model_name: `${data.adapter}@v${data.version}`,
    ...wordsOf(data.answer),
    metrics: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      ...defined({
        cached_tokens: usage.cachedPromptTokens,
        prompt_token_ids: tokens?.promptIds,
        completion_token_ids: tokens?.responseIds,
        logprobs: hasLogProbs ? tokens.logProbs : undefined,
      }),
    },
    llm_call_count: 1,
    extra: {
      interaction_id: turn.id,
      version: data.version,
      finish_reason: data.finishReason,
      reward: own,
      return: earned,
      advantage,
      not_trained: turn.reason,
    },
  };
}

/** Reasoning and calls of an assistant message. */
function wordsOf({
  reasoning_content,
  tool_calls,
}: ChatMessage): Pick<Step, 'reasoning_content' | 'tool_calls'> {
  const calls = tool_calls?.map(({ id, function: called }, index) => ({
    tool_call_id: id ?? `call-${index + 1}`,
    function_name: called.name,
    ...argumentsOf(called.arguments),
  }));
  return defined({
    reasoning_content: reasoning_content || undefined,
    tool_calls: calls?.length ? calls : undefined,
  });
}

/** A model may write arguments that are no JSON object; the format has no other place for them. */
function argumentsOf(text: string): Pick<ToolCall, 'arguments' | 'extra'> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return { arguments: parsed as Readonly<Record<string, unknown>> };
  } catch {
    // kept as text
  }
  return { arguments: {}, extra: { arguments_text: text } };
}
