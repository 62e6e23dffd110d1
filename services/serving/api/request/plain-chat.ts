import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { isObject } from '../../../../shared/lang/json.ts';
import { LONGEST_TOOL_NAME, MOST_CALLS, MOST_MESSAGES, MOST_PARTS, MOST_TOOLS } from './request-bounds.ts';

const roles: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/**
 * Whether messages are valid and need no change; nearly all are. For 100 KB, this check takes a tenth of the time of
 * the schema, which also copies each message. False if in doubt: then the schema decides and names the fault.
 */
export const arePlainMessages = (messages: unknown): messages is readonly ChatMessage[] =>
  Array.isArray(messages) &&
  messages.length > 0 &&
  messages.length <= MOST_MESSAGES &&
  messages.every(isPlainMessage);

/** The same for tools. */
export const arePlainTools = (tools: unknown): boolean =>
  tools == null || (Array.isArray(tools) && tools.length <= MOST_TOOLS && tools.every(isPlainTool));

function isPlainMessage(message: unknown): boolean {
  if (!isObject(message) || !roles.has(message.role)) return false;
  let hasContent = false;
  for (const name in message) {
    const value = message[name];
    switch (name) {
      case 'content':
        if (!isPlainContent(value)) return false;
        hasContent = true;
        break;
      case 'tool_calls':
        if (!Array.isArray(value) || value.length > MOST_CALLS || !value.every(isPlainCall)) return false;
        break;
      case 'name':
      case 'tool_call_id':
      case 'reasoning_content':
        if (typeof value !== 'string') return false;
        break;
      case 'function_call':
      case 'audio':
        return false;
      default:
        if (value === null) return false;
    }
  }
  return hasContent || message.role === 'assistant';
}

const isPlainContent = (content: unknown): boolean =>
  typeof content === 'string' ||
  (Array.isArray(content) && content.length <= MOST_PARTS && content.every(isPlainPart));

const isPlainPart = (part: unknown): boolean =>
  isObject(part) && part.type === 'text' && typeof part.text === 'string';

const isPlainCall = (call: unknown): boolean =>
  isObject(call) &&
  isTextOrAbsent(call.id) &&
  isTextOrAbsent(call.type) &&
  isObject(call.function) &&
  typeof call.function.name === 'string' &&
  typeof call.function.arguments === 'string';

const isPlainTool = (tool: unknown): boolean =>
  isObject(tool) &&
  tool.type === 'function' &&
  isObject(tool.function) &&
  typeof tool.function.name === 'string' &&
  tool.function.name !== '' &&
  tool.function.name.length <= LONGEST_TOOL_NAME &&
  (tool.function.parameters == null || isObject(tool.function.parameters));

const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';
