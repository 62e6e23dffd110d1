import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolCall } from '../../../shared/events/chat-message.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

const given = z.union([z.looseObject({}), z.string()]).optional();
const Call = z.object({ name: z.string().min(1), arguments: given, parameters: given });

export type ToolCallPiece = { readonly text: string; readonly toolCalls: readonly ToolCall[] };

export type ToolCallParser = {
  readonly push: (text: string) => ToolCallPiece;
  /** What was held back at the end. An unfinished call is text. */
  readonly flush: () => ToolCallPiece;
};

/**
 * Takes `<tool_call>{"name": .., "arguments": {..}}</tool_call>` blocks, as Qwen's and Hermes' templates
 * teach them, out of a stream of text. A block that is no such JSON stays text.
 */
export function createToolCallParser(): ToolCallParser {
  let held = '';
  const take = (): ToolCallPiece => {
    let text = '';
    const toolCalls: ToolCall[] = [];
    for (;;) {
      const open = held.indexOf(OPEN);
      if (open === -1) {
        const keep = beginningAtEnd(held);
        text += held.slice(0, held.length - keep);
        held = held.slice(held.length - keep);
        return { text, toolCalls };
      }
      text += held.slice(0, open);
      held = held.slice(open);
      const close = held.indexOf(CLOSE);
      if (close === -1) return { text, toolCalls };
      const block = held.slice(0, close + CLOSE.length);
      const call = callOf(block.slice(OPEN.length, close));
      if (call === undefined) text += block;
      else toolCalls.push(call);
      held = held.slice(block.length);
    }
  };
  return {
    push: (text) => {
      held += text;
      return take();
    },
    flush: () => {
      const text = held;
      held = '';
      return { text, toolCalls: [] };
    },
  };
}

/** Length of the longest end of the text that begins a block. */
function beginningAtEnd(text: string): number {
  for (let length = Math.min(OPEN.length - 1, text.length); length > 0; length--) {
    if (OPEN.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** The call that a JSON text is: a name, with its arguments under either of their names. */
export function callOf(block: string): ToolCall | undefined {
  let json: unknown;
  try {
    json = JSON.parse(block);
  } catch {
    return undefined;
  }
  const call = Call.safeParse(json);
  if (!call.success) return undefined;
  const { name, parameters = {}, arguments: given = parameters } = call.data;
  return {
    id: `call_${randomBytes(9).toString('hex')}`,
    type: 'function',
    function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  };
}
