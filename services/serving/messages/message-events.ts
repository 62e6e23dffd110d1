import type { ToolCall } from '../../../shared/events/chat-message.ts';
import type { AskedChat } from '../chat/answer.ts';
import { callsInTurn } from '../chat/calls-in-turn.ts';
import type { Finished } from '../chat/completion.ts';
import type { AnswerChunk, CallPart, Started } from '../engine/engine.ts';
import type { Frame } from '../routes/event-stream.ts';
import { markOf, stopOf, textBlock, thinkingBlock, toolUseBlock, usageOf } from './message-parts.ts';

type Open = { readonly kind: 'text' | 'thinking' | 'call'; readonly index: number };

const frame = (type: string, data: object = {}): Frame => ({ event: type, data: { type, ...data } });

/** The events of a streamed message, in Anthropic's order: its blocks come one after the other. */
export function messageEvents({ id, chat: { model, ignored } }: AskedChat) {
  let open: Open | undefined;
  let blocks = 0;
  /** White space before any words: beside tool calls alone it is no text. */
  let held = '';
  let hasText = false;
  /** Blocks of the calls told so far, by the call's id. */
  const calls = new Map<string, number>();
  const inTurn = callsInTurn();

  const delta = (index: number, part: object) => frame('content_block_delta', { index, delta: part });
  const begin = (block: object) => frame('content_block_start', { index: blocks++, content_block: block });
  const close = (): readonly Frame[] => {
    if (open === undefined) return [];
    const { kind, index } = open;
    open = undefined;
    const signed = kind === 'thinking' ? [delta(index, { type: 'signature_delta', signature: id })] : [];
    return [...signed, frame('content_block_stop', { index })];
  };
  const say = (kind: 'text' | 'thinking', words: string): readonly Frame[] => {
    const opening: Frame[] = [];
    if (open?.kind !== kind) {
      opening.push(...close(), begin(kind === 'text' ? textBlock('') : thinkingBlock('', '')));
      open = { kind, index: blocks - 1 };
    }
    const part =
      kind === 'text' ? { type: 'text_delta', text: words } : { type: 'thinking_delta', thinking: words };
    return [...opening, delta(open!.index, part)];
  };
  const sayText = (words: string): readonly Frame[] => {
    held += words;
    if (!hasText && held.trim() === '') return [];
    hasText = true;
    const text = held;
    held = '';
    return text === '' ? [] : say('text', text);
  };
  const call = ({ id: callId, name, arguments: given }: CallPart): readonly Frame[] => {
    const opening: Frame[] = [];
    if (name !== undefined) {
      opening.push(...close(), begin(toolUseBlock({ id: callId, name, input: {} })));
      open = { kind: 'call', index: blocks - 1 };
      calls.set(callId, open.index);
    }
    const index = calls.get(callId)!;
    return [...opening, delta(index, { type: 'input_json_delta', partial_json: given })];
  };
  /** A whole call, unless it came in parts. */
  const wholeCall = ({ id: callId = '', function: { name, arguments: given } }: ToolCall) =>
    calls.has(callId) ? [] : call({ id: callId, name, arguments: given });
  const show = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): readonly Frame[] => [
    ...(reasoning === '' ? [] : say('thinking', reasoning)),
    ...sayText(text),
    ...callParts.flatMap(call),
    ...toolCalls.flatMap(wholeCall),
  ];
  return {
    first: ({ promptTokens = 0 }: Started): readonly Frame[] => [
      frame('message_start', {
        message: {
          ...{ id, type: 'message', role: 'assistant', model, content: [] },
          ...{ stop_reason: null, stop_sequence: null },
          usage: usageOf({ promptTokens, completionTokens: 0 }),
        },
      }),
      frame('ping'),
    ],
    next: (chunk: AnswerChunk): readonly Frame[] => inTurn.next(chunk).flatMap(show),
    last: (finished: Finished): readonly Frame[] => [
      ...inTurn.rest().flatMap(show),
      ...(held === '' || calls.size > 0 ? [] : say('text', held)),
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
