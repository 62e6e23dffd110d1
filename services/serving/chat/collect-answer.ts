import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';
import type { AnswerChunk, ShownToken } from '../engine/engine.ts';

/** One answer as it is heard, piece by piece. */
export type CollectedAnswer = {
  readonly add: (chunk: AnswerChunk) => void;
  readonly tokens: () => readonly ShownToken[];
  readonly message: () => ChatMessage;
  /** ms since it was asked for; null: nothing was heard */
  readonly firstTokenMs: () => number | null;
};

/** @param askedAt ms, of the monotonic clock */
export function collectAnswer(askedAt: number): CollectedAnswer {
  let text = '';
  let reasoning = '';
  let firstTokenMs: number | null = null;
  const toolCalls: ToolCall[] = [];
  const tokens: ShownToken[] = [];
  return {
    add: (chunk) => {
      firstTokenMs ??= monotonicNow() - askedAt;
      text += chunk.text;
      reasoning += chunk.reasoning ?? '';
      toolCalls.push(...(chunk.toolCalls ?? []));
      tokens.push(...chunk.tokens);
    },
    tokens: () => tokens,
    message: () => ({
      role: 'assistant',
      content: toolCalls.length > 0 && text.trim() === '' ? null : text,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    }),
    firstTokenMs: () => firstTokenMs,
  };
}
