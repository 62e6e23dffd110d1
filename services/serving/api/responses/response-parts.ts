import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import type { FinishedAnswer } from '../../answer/answer.ts';
import type { Mark } from '../../answer/mark.ts';
import { cutOf, ignoredOf, type Omission } from '../../answer/mark.ts';
import type { Generated } from '../../generation.ts';
import type { ResponsesBody } from './fields.ts';
import { clientNames, functionTools, type Namespaces, namespacesOf } from './tools.ts';

/**
 * The id of an item consists of its kind, its place and the answer's id. The place is the index among the items of
 * the kind; for a call it is a hash of the call's id, because a stream may send calls in a different order than the
 * whole answer.
 */
export const itemId = (kind: 'rs' | 'msg' | 'fc', answerId: string, place: number | string): string =>
  `${kind}_${place}_${answerId}`;

export const callPlace = (callId: string): string =>
  createHash('sha256').update(callId).digest('hex').slice(0, 8);

/** The answer that an item belongs to; undefined: the id is not from this server. */
export const answerOfItem = (id: string): string | undefined =>
  /^(?:rs|msg|fc)_[0-9a-f]+_(.+)$/.exec(id)?.[1];

/** Reasoning or text that a stream split into several items is one item in the whole answer. */
export const firstOfKind = (id: string): string => id.replace(/^(rs|msg)_\d+_/, '$1_0_');

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export const reasoningPart = (text: string) => ({ type: 'reasoning_text', text });
export const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

export const reasoningItem = (id: string, status: ItemStatus, content: readonly object[]) => ({
  id,
  type: 'reasoning',
  status,
  summary: [],
  content,
});
export const messageItem = (id: string, status: ItemStatus, content: readonly object[]) => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content,
});
/** `name`: as written by the policy. */
type Call = { readonly call_id: string; readonly name: string; readonly arguments: string };

export const callItem = (
  id: string,
  status: ItemStatus,
  { name, ...call }: Call,
  namespaces: Namespaces,
) => ({
  id,
  type: 'function_call',
  status,
  ...call,
  ...clientNames(namespaces, name),
});

type ItemOptions = {
  /** status of the last item */
  readonly last?: ItemStatus;
  readonly namespaces?: Namespaces;
};

/** The items of a whole answer. */
export function itemsOf(
  answer: ChatMessage,
  answerId: string,
  { last = 'completed', namespaces = new Map() }: ItemOptions = {},
): readonly { readonly id: string; readonly type: string }[] {
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = answer;
  const makers: ((status: ItemStatus) => { readonly id: string; readonly type: string })[] = [];
  if (reasoning)
    makers.push((status) => reasoningItem(itemId('rs', answerId, 0), status, [reasoningPart(reasoning)]));
  if (typeof content === 'string' && content !== '')
    makers.push((status) => messageItem(itemId('msg', answerId, 0), status, [textPart(content)]));
  for (const { id = '', function: called } of calls) {
    const call = { call_id: id, name: called.name, arguments: called.arguments };
    makers.push((status) => callItem(itemId('fc', answerId, callPlace(id)), status, call, namespaces));
  }
  return makers.map((make, index) => make(index === makers.length - 1 ? last : 'completed'));
}

/** Request fields that the response repeats. Tools only if some are in namespaces, which the event does not contain. */
export const repeatedFields = (body: ResponsesBody) => ({
  ...defined({
    tools:
      body.store !== false && namespacesOf(body.tools ?? []).size > 0
        ? functionTools(body.tools ?? [])
        : undefined,
  }),
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: body.previous_response_id ?? null,
  store: body.store ?? true,
  temperature: body.temperature ?? null,
  ...defined({ text: body.text?.format == null ? undefined : { format: body.text.format } }),
  tool_choice: body.tool_choice ?? 'auto',
  top_p: body.top_p ?? null,
});

type Head = {
  readonly id: string;
  readonly model: string;
  readonly tools: readonly object[];
  /** request fields to repeat, with `created_at`, s since 1970 */
  readonly repeated: object;
};

/** The response before generation starts. */
export const responseHead = ({ id, model, tools, repeated }: Head) => ({
  id,
  object: 'response',
  status: 'in_progress',
  model,
  error: null,
  incomplete_details: null,
  output: [] as readonly object[],
  usage: null,
  text: { format: { type: 'text' } },
  tools,
  ...repeated,
});

const usageOf = ({ promptTokens, completionTokens, cachedPromptTokens = 0 }: Generated['usage']) => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: cachedPromptTokens },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: promptTokens + completionTokens,
});

const incomplete: Readonly<Partial<Record<Generated['finishReason'], string>>> = {
  length: 'max_output_tokens',
  aborted: 'max_output_tokens', // a client that still reads it sees it cut short
  content_filter: 'content_filter',
};

type End = Pick<Generated, 'version' | 'finishReason' | 'usage' | 'windowCut'> & Omit<Mark, 'cut'>;

/** The last item of an incomplete answer is incomplete, too. */
export const lastItemStatus = ({ finishReason }: Pick<End, 'finishReason'>): ItemStatus =>
  incomplete[finishReason] === undefined ? 'completed' : 'incomplete';

/** The fields of a response that the end of its answer determines. */
export function responseEnd(end: End, output: readonly object[]) {
  const { version, finishReason, usage, recorded, ignored } = end;
  const reason = incomplete[finishReason];
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usageOf(usage),
    clawloop: {
      version,
      recorded,
      ...defined({ ignored }),
      ...cutOf(end),
    } satisfies Mark,
  };
}

/** The end of a new answer. */
export const endOf = ({ version, usage, choices }: FinishedAnswer, ignored: readonly Omission[]): End => {
  const { generated, recorded } = choices[0]!;
  const { finishReason, windowCut } = generated;
  return {
    version,
    usage,
    finishReason,
    recorded,
    ...ignoredOf(ignored),
    ...defined({ windowCut }),
  };
};
