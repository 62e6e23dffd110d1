import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { Finished, Mark } from '../chat/completion.ts';
import { cutIn } from '../chat/cut-mark.ts';
import { ignoredIn, type Omission } from '../chat/omissions.ts';
import type { Generated } from '../engine/engine.ts';
import type { ResponsesBody } from './fields.ts';
import { calledAs, keptTools, type Namespaces, namespacesOf } from './tools.ts';

/**
 * An item's id follows from its answer's, and its place among the thoughts or the messages there; a call's
 * from its own id, since a stream may tell calls in another order than the whole answer has them.
 */
export const itemId = (kind: 'rs' | 'msg' | 'fc', answerId: string, place: number | string): string =>
  `${kind}_${place}_${answerId}`;

export const callPlace = (callId: string): string =>
  createHash('sha256').update(callId).digest('hex').slice(0, 8);

/** The answer to which an item of that id belongs; undefined: it is no id of ours. */
export const answerOfItem = (id: string): string | undefined =>
  /^(?:rs|msg|fc)_[0-9a-f]+_(.+)$/.exec(id)?.[1];

/** Thoughts and words that a stream told in several items are one each in the whole answer. */
export const firstOfKind = (id: string): string => id.replace(/^(rs|msg)_\d+_/, '$1_0_');

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export const reasoningPart = (text: string) => ({ type: 'reasoning_text', text });
export const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

export const reasoningItem = (id: string, status: ItemStatus, content: readonly object[]) => ({
  ...{ id, type: 'reasoning', status, summary: [], content },
});
export const messageItem = (id: string, status: ItemStatus, content: readonly object[]) => ({
  ...{ id, type: 'message', role: 'assistant', status, content },
});
/** `name`: as the policy wrote it. */
type Call = { readonly call_id: string; readonly name: string; readonly arguments: string };

export const callItem = (
  id: string,
  status: ItemStatus,
  { name, ...call }: Call,
  namespaces: Namespaces,
) => ({
  ...{ id, type: 'function_call', status, ...call },
  ...calledAs(namespaces, name),
});

type ItemOptions = {
  /** of the last one */
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
  for (const {
    id = '',
    function: { name, arguments: given },
  } of calls) {
    const call = { call_id: id, name, arguments: given };
    makers.push((status) => callItem(itemId('fc', answerId, callPlace(id)), status, call, namespaces));
  }
  return makers.map((make, index) => make(index === makers.length - 1 ? last : 'completed'));
}

/** What a response says back of its request, beside its tools. Those in namespaces do not stand in its fact. */
export const saidBack = (body: ResponsesBody) => ({
  ...(body.store !== false && namespacesOf(body.tools ?? []).size > 0
    ? { tools: keptTools(body.tools ?? []) }
    : {}),
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: body.previous_response_id ?? null,
  store: body.store ?? true,
  temperature: body.temperature ?? null,
  ...(body.text?.format == null ? {} : { text: { format: body.text.format } }),
  tool_choice: body.tool_choice ?? 'auto',
  top_p: body.top_p ?? null,
});

type Head = {
  readonly id: string;
  readonly model: string;
  readonly tools: readonly object[];
  /** with `created_at`, s since the epoch */
  readonly said: object;
};

/** The response before there is an answer. */
export const responseHead = ({ id, model, tools, said }: Head) => ({
  ...{ id, object: 'response', status: 'in_progress', model, error: null, incomplete_details: null },
  ...{ output: [] as readonly object[], usage: null, text: { format: { type: 'text' } }, tools },
  ...said,
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
  aborted: 'max_output_tokens', // whoever still reads it sees it cut short
  content_filter: 'content_filter',
};

type End = Pick<Generated, 'version' | 'finishReason' | 'usage' | 'windowCut'> & Omit<Mark, 'cut'>;

/** The item that an answer was cut in is as incomplete as the answer. */
export const lastItemStatus = ({ finishReason }: Pick<End, 'finishReason'>): ItemStatus =>
  incomplete[finishReason] === undefined ? 'completed' : 'incomplete';

/** How it came out. */
export function responseEnd(end: End, output: readonly object[]) {
  const { version, finishReason, usage, recorded, ignored } = end;
  const reason = incomplete[finishReason];
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usageOf(usage),
    clawloop: {
      ...{ version, recorded },
      ...(ignored === undefined ? {} : { ignored }),
      ...cutIn(end),
    } satisfies Mark,
  };
}

/** Of an answer that has just been given. */
export const endOf = ({ version, usage, choices }: Finished, ignored: readonly Omission[]): End => {
  const { generated, recorded } = choices[0]!;
  const { finishReason, windowCut } = generated;
  return {
    ...{ version, usage, finishReason, recorded },
    ...ignoredIn(ignored),
    ...(windowCut === undefined ? {} : { windowCut }),
  };
};
