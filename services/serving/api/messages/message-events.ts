import type { ToolCall } from '../../../../shared/events/chat-message.ts';
import type { AcceptedRequest, FinishedAnswer } from '../../answer/answer.ts';
import { sequentialCalls } from '../../decoding/sequential-calls.ts';
import type { AnswerChunk, CallPart, Started } from '../../generation.ts';
import type { Frame } from '../../http/event-stream.ts';
import { withholdLeadingSpace } from '../leading-space.ts';
import { markOf, stopOf, textBlock, thinkingBlock, toolUseBlock, usageOf } from './message-parts.ts';

type Open = { readonly kind: 'text' | 'thinking' | 'call'; readonly index: number };

const frame = (type: string, data: object = {}): Frame => ({ event: type, data: { type, ...data } });

const messageStart = (id: string, model: string, { promptTokens = 0 }: Started): Frame =>
  frame('message_start', {
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf({ promptTokens, completionTokens: 0 }),
    },
  });

/** The events of a streamed message in Anthropic's order: one block after another. */
export function messageEvents({ id, chat: { model, ignored } }: AcceptedRequest) {
  let open: Open | undefined;
  let blocks = 0;
  let hasBegun = false;
  const leadingSpace = withholdLeadingSpace();
  /** Block indices of the calls sent so far, by call id. */
  const calls = new Map<string, number>();
  const sequential = sequentialCalls();

  const delta = (index: number, part: object) => frame('content_block_delta', { index, delta: part });
  const begin = (block: object) => frame('content_block_start', { index: blocks++, content_block: block });
  const close = (): readonly Frame[] => {
    if (open === undefined) return [];
    const { kind, index } = open;
    open = undefined;
    const signed = kind === 'thinking' ? [delta(index, { type: 'signature_delta', signature: id })] : [];
    return [...signed, frame('content_block_stop', { index })];
  };
  const sendText = (kind: 'text' | 'thinking', piece: string): readonly Frame[] => {
    const opening: Frame[] = [];
    if (open?.kind !== kind) {
      opening.push(...close(), begin(kind === 'text' ? textBlock('') : thinkingBlock('', '')));
      open = { kind, index: blocks - 1 };
    }
    const part =
      kind === 'text' ? { type: 'text_delta', text: piece } : { type: 'thinking_delta', thinking: piece };
    return [...opening, delta(open!.index, part)];
  };
  const sendAnswerText = (piece: string): readonly Frame[] => {
    const text = leadingSpace.next(piece);
    return text === '' ? [] : sendText('text', text);
  };
  const call = ({ id: callId, name, arguments: args }: CallPart): readonly Frame[] => {
    const opening: Frame[] = [];
    if (name !== undefined) {
      opening.push(...close(), begin(toolUseBlock({ id: callId, name, input: {} })));
      open = { kind: 'call', index: blocks - 1 };
      calls.set(callId, open.index);
    }
    const index = calls.get(callId)!;
    return [...opening, delta(index, { type: 'input_json_delta', partial_json: args })];
  };
  /** A whole call, unless its parts were already sent. */
  const wholeCall = ({ id: callId = '', function: { name, arguments: args } }: ToolCall) =>
    calls.has(callId) ? [] : call({ id: callId, name, arguments: args });
  const show = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): readonly Frame[] => [
    ...(reasoning === '' ? [] : sendText('thinking', reasoning)),
    ...sendAnswerText(text),
    ...callParts.flatMap(call),
    ...toolCalls.flatMap(wholeCall),
  ];
  return {
    first: (started: Started): readonly Frame[] => {
      hasBegun = true;
      return [messageStart(id, model, started), frame('ping')];
    },
    /** Anthropic's streams begin with `message_start`, whose usage is not known yet. */
    waiting: (): readonly Frame[] => (hasBegun ? [frame('ping')] : []),
    next: (chunk: AnswerChunk): readonly Frame[] => sequential.next(chunk).flatMap(show),
    last: (finished: FinishedAnswer): readonly Frame[] => [
      ...sequential.rest().flatMap(show),
      ...(leadingSpace.rest() === '' || calls.size > 0 ? [] : sendText('text', leadingSpace.rest())),
      ...close(),
      frame('message_delta', {
        delta: stopOf(finished.choices[0]!.generated),
        usage: usageOf(finished.usage),
        ...markOf(finished, ignored),
      }),
      frame('message_stop'),
    ],
  };
}
