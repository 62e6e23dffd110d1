import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { callOf, type ToolCallParser } from './tool-call-parser.ts';

/** The beginnings of a call, without white space. */
const BEGINNINGS = ['{"name":"', '{"type":"function","'];

/**
 * Parses an answer that consists of calls only, `{"name": .., "parameters": {..}}` separated by `;` or white
 * space, as Llama 3's templates describe them. The answer is withheld while it may be such calls. It is text if
 * it turns out otherwise, or names an unknown tool.
 */
export function createBareCallParser(toolNames: readonly string[]): ToolCallParser {
  let withheld = '';
  let isText = false;
  return {
    push: (part) => {
      if (isText) return { text: part, toolCalls: [] };
      withheld += part;
      const begun = withheld.slice(0, 200).replace(/\s/g, '');
      if (BEGINNINGS.some((beginning) => beginning.startsWith(begun) || begun.startsWith(beginning)))
        return { text: '', toolCalls: [] };
      const text = withheld;
      withheld = '';
      isText = true;
      return { text, toolCalls: [] };
    },
    flush: () => {
      const text = withheld;
      withheld = '';
      const toolCalls = callsOf(text, toolNames);
      return toolCalls === undefined ? { text, toolCalls: [] } : { text: '', toolCalls };
    },
  };
}

/** Undefined if the text contains anything else. */
function callsOf(text: string, toolNames: readonly string[]): readonly ToolCall[] | undefined {
  const objects = jsonObjects(text);
  const calls = objects?.map(callOf);
  const isWhole = calls?.every((call) => call !== undefined && toolNames.includes(call.function.name));
  return isWhole && calls!.length > 0 ? (calls as ToolCall[]) : undefined;
}

/** The objects of a text, split where their braces close; undefined if other text stands between them. */
function jsonObjects(text: string): readonly string[] | undefined {
  const objects: string[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"' && depth > 0) inString = true;
    else if (character === '{') {
      if (depth === 0) start = at;
      depth += 1;
    } else if (character === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0) objects.push(text.slice(start, at + 1));
    } else if (depth === 0 && !/[\s;]/.test(character)) return undefined;
  }
  return depth === 0 ? objects : undefined;
}
