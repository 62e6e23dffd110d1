import { defined } from '../../../shared/lang/defined.ts';
import type { ToolCallForm } from './tool-call-form.ts';
import type { ToolCallParser, ToolCallPiece } from './tool-call-parser.ts';

/**
 * Passes only the first call of an answer. The answer ends where a second call begins; text before it in the
 * same piece is kept.
 */
export function onlyFirstCall(parser: ToolCallParser): ToolCallParser {
  let first: string | undefined;
  let isOver = false;
  const cut = (piece: ToolCallPiece): ToolCallPiece => {
    if (isOver) return { text: '', toolCalls: [], ends: true };
    const { callParts = [], toolCalls } = piece;
    first ??= callParts[0]?.id ?? toolCalls[0]?.id;
    const isOther = ({ id }: { readonly id?: string | undefined }) => id !== first;
    isOver = callParts.some(isOther) || toolCalls.some(isOther);
    if (!isOver) return piece;
    const parts = callParts.filter((part) => !isOther(part));
    return {
      text: piece.text,
      toolCalls: toolCalls.filter((call) => !isOther(call)),
      ...defined({ callParts: parts.length === 0 ? undefined : parts }),
      ends: true,
    };
  };
  return { push: (text) => cut(parser.push(text)), flush: () => cut(parser.flush()) };
}

const MARK = '<tool_call>';

/**
 * For an answer of a format: it is a call only if it begins with a mark, since a document may contain marks as
 * text. The parser of unmarked calls checks the whole answer itself.
 */
export function onlyLeadingCall(parser: ToolCallParser, form: ToolCallForm): ToolCallParser {
  if (form === 'bare') return parser;
  let withheld: string | undefined = ''; // until the kind of the answer is known
  let isCall = false;
  return {
    push: (text): ToolCallPiece => {
      if (withheld === undefined) return isCall ? parser.push(text) : { text, toolCalls: [] };
      withheld += text;
      const begun = withheld.trimStart();
      if (begun.length < MARK.length && MARK.startsWith(begun)) return { text: '', toolCalls: [] };
      isCall = begun.startsWith(MARK);
      const all = withheld;
      withheld = undefined;
      return isCall ? parser.push(begun) : { text: all, toolCalls: [] };
    },
    flush: () => (isCall ? parser.flush() : { text: withheld ?? '', toolCalls: [] }),
  };
}
