import type { ToolCallForm } from './tool-call-form.ts';
import type { ToolCallParser, ToolCallPiece } from './tool-call-parser.ts';

const MARK = '<tool_call>';

/**
 * Of an answer of a format: it is a call where it begins with one; whatever a document holds is none. A call
 * without marks is told by its whole form, which its own parser looks at.
 */
export function onlyLeadingCall(parser: ToolCallParser, form: ToolCallForm): ToolCallParser {
  if (form === 'bare') return parser;
  let held: string | undefined = ''; // until it is known what the answer is
  let isCall = false;
  return {
    push: (text): ToolCallPiece => {
      if (held === undefined) return isCall ? parser.push(text) : { text, toolCalls: [] };
      held += text;
      const begun = held.trimStart();
      if (begun.length < MARK.length && MARK.startsWith(begun)) return { text: '', toolCalls: [] };
      isCall = begun.startsWith(MARK);
      const all = held;
      held = undefined;
      return isCall ? parser.push(begun) : { text: all, toolCalls: [] };
    },
    flush: () => (isCall ? parser.flush() : { text: held ?? '', toolCalls: [] }),
  };
}
