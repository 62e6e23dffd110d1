import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import type { AnswerChunk, ShownToken } from '../generation.ts';

/** Collects one answer from its chunks. */
export type CollectedAnswer = {
  readonly add: (chunk: AnswerChunk) => void;
  readonly tokens: () => readonly ShownToken[];
  readonly message: () => ChatMessage;
  /** ms since the request; null: no chunk has arrived */
  readonly firstTokenMs: () => number | null;
};

/** @param requestedAt ms of the monotonic clock */
export function collectAnswer(requestedAt: number): CollectedAnswer {
  let text = '';
  let reasoning = '';
  let firstTokenMs: number | null = null;
  const toolCalls: ToolCall[] = [];
  const tokens: ShownToken[] = [];
  return {
    add: (chunk) => {
      firstTokenMs ??= monotonicNow() - requestedAt;
      text += chunk.text;
      reasoning += chunk.reasoning ?? '';
      toolCalls.push(...(chunk.toolCalls ?? []));
      tokens.push(...chunk.tokens);
    },
    tokens: () => tokens,
    message: () => ({
      role: 'assistant',
      content: toolCalls.length > 0 && text.trim() === '' ? null : text,
      ...defined({
        reasoning_content: reasoning === '' ? undefined : reasoning,
        tool_calls: toolCalls.length === 0 ? undefined : toolCalls,
      }),
    }),
    firstTokenMs: () => firstTokenMs,
  };
}
