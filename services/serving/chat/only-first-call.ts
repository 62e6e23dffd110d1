import type { ToolCallParser, ToolCallPiece } from './tool-call-parser.ts';

/**
 * Lets one call of an answer through. Where a second one begins, the answer is over; text before it may have
 * come in the same piece and is kept.
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
    const parts = callParts.filter((one) => !isOther(one));
    return {
      text: piece.text,
      toolCalls: toolCalls.filter((one) => !isOther(one)),
      ...(parts.length === 0 ? {} : { callParts: parts }),
      ends: true,
    };
  };
  return { push: (text) => cut(parser.push(text)), flush: () => cut(parser.flush()) };
}
