import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { callOf, type ToolCallParser } from './tool-call-parser.ts';

/** How a call may begin, without its white space. */
const BEGINNINGS = ['{"name":"', '{"type":"function","'];

/**
 * Takes an answer that is nothing but calls, `{"name": .., "parameters": {..}}` with `;` or white space
 * between several, as Llama 3's templates teach it. It is held back while it may be that, and is text when it
 * turns out otherwise, or when it names a tool that there is not.
 */
export function createBareCallParser(toolNames: readonly string[]): ToolCallParser {
  let held = '';
  let isText = false;
  return {
    push: (part) => {
      if (isText) return { text: part, toolCalls: [] };
      held += part;
      const begun = held.slice(0, 200).replace(/\s/g, '');
      if (BEGINNINGS.some((one) => one.startsWith(begun) || begun.startsWith(one)))
        return { text: '', toolCalls: [] };
      const text = held;
      held = '';
      isText = true;
      return { text, toolCalls: [] };
    },
    flush: () => {
      const text = held;
      held = '';
      const toolCalls = callsOf(text, toolNames);
      return toolCalls === undefined ? { text, toolCalls: [] } : { text: '', toolCalls };
    },
  };
}

/** Undefined: there is something else in the text, too. */
function callsOf(text: string, toolNames: readonly string[]): readonly ToolCall[] | undefined {
  const objects = jsonObjects(text);
  const calls = objects?.map(callOf);
  const isWhole = calls?.every((call) => call !== undefined && toolNames.includes(call.function.name));
  return isWhole && calls!.length > 0 ? (calls as ToolCall[]) : undefined;
}

/** The objects of a text, cut where their braces close; undefined when something stands between them. */
function jsonObjects(text: string): readonly string[] | undefined {
  const objects: string[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]!;
    if (inString) {
      if (letter === '\\') at += 1;
      else if (letter === '"') inString = false;
    } else if (letter === '"' && depth > 0) inString = true;
    else if (letter === '{') {
      if (depth === 0) start = at;
      depth += 1;
    } else if (letter === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0) objects.push(text.slice(start, at + 1));
    } else if (depth === 0 && !/[\s;]/.test(letter)) return undefined;
  }
  return depth === 0 ? objects : undefined;
}
