import type { ChatMessage, ToolCall } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { ServingError } from '../../errors.ts';
import {
  DOCUMENT_PLACEHOLDER,
  IMAGE_PLACEHOLDER,
  type Omissions,
  TOOL_PLACEHOLDER,
} from '../request/omissions.ts';
import {
  callItem,
  customCallItem,
  type Item,
  messageItem,
  type Part,
  type ResponsesBody,
  readPart,
  reasoningItem,
  resultItem,
} from './fields.ts';
import { chatName } from './tools.ts';

/** Name of the instructions message in an event. Instructions apply to one request only. */
const INSTRUCTIONS = 'instructions';

export const instructionsMessage = (content: string): ChatMessage => ({
  role: 'system',
  name: INSTRUCTIONS,
  content,
});

/** The messages that a later request continues. */
export const withoutInstructions = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.filter(({ role, name }) => role !== 'system' || name !== INSTRUCTIONS);

/**
 * Translates input to chat messages. Reasoning, text and calls of one answer are separate items here, but one
 * message in a chat.
 * @throws ServingError UNSUPPORTED_PARAMETER for content that is not text, INVALID_REQUEST
 */
export function chatMessages(input: ResponsesBody['input'], omissions: Omissions): readonly ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: ChatMessage[] = [];
  let answer: { text: string; reasoning: string; calls: ToolCall[]; hasLeftOut: boolean } | undefined;
  const finishAnswer = () => {
    if (answer !== undefined) messages.push(answerMessage(answer));
    answer = undefined;
  };
  for (const [index, item] of input.entries()) {
    if (isEmptySystemMessage(item)) continue;
    const part = partOf(item, `input[${index}]`, omissions);
    if (part === undefined) continue;
    if ('role' in part) {
      finishAnswer();
      messages.push(part);
      continue;
    }
    answer ??= { text: '', reasoning: '', calls: [], hasLeftOut: false };
    answer.text += part.text;
    answer.reasoning += part.reasoning;
    answer.calls.push(...part.calls);
    answer.hasLeftOut ||= part.hasLeftOut;
  }
  finishAnswer();
  if (messages.length === 0 && !input.every(isEmptySystemMessage)) {
    const detail = "Invalid 'input': it has no message, call or result that this server can read.";
    throw ServingError.INVALID_REQUEST({ param: 'input', detail });
  }
  return messages;
}

type Answer = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  /** Whether the answer had calls of another server's tools. */
  readonly hasLeftOut: boolean;
};
const emptyAnswer: Answer = { text: '', reasoning: '', calls: [], hasLeftOut: false };

/** Parts of an answer: calls of tools that OpenAI runs, or defines for the client. */
const foreignCalls: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'tool_search_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'mcp_call',
  'mcp_approval_request',
]);
/** Other items that only the server that wrote them, or defined their tool, can use. A compaction is encrypted. */
const foreignItems: ReadonlySet<string> = new Set([
  'compaction',
  'tool_search_output',
  'computer_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_approval_response',
]);

/** Some clients send an empty system message. */
const isEmptySystemMessage = ({ type, role, content }: Item): boolean =>
  (type === undefined || type === 'message') &&
  (role === 'system' || role === 'developer') &&
  (content == null || content === '' || (Array.isArray(content) && content.length === 0));

/** A message, or the part of an answer in one item. Undefined: the item is left out. */
function partOf(item: Item, at: string, omissions: Omissions): ChatMessage | Answer | undefined {
  switch (item.type) {
    case undefined:
    case 'message': {
      const { role, content } = readPart(messageItem, item, at);
      const param = `${at}.content`;
      return role === 'assistant'
        ? { ...emptyAnswer, text: joined(content, param, omissions) }
        : { role, content: textContent(content, param, omissions) };
    }
    case 'function_call': {
      const { call_id: id, arguments: args, ...called } = readPart(callItem, item, at);
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      const call = { name: chatName(called), arguments: text };
      return { ...emptyAnswer, calls: [{ id, type: 'function', function: call }] };
    }
    case 'custom_tool_call': {
      const { call_id: id, input, ...called } = readPart(customCallItem, item, at);
      const call = { name: chatName(called), arguments: JSON.stringify({ input }) };
      return { ...emptyAnswer, calls: [{ id, type: 'function', function: call }] };
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: id, output } = readPart(resultItem, item, at);
      return { role: 'tool', tool_call_id: id, content: textContent(output, `${at}.output`, omissions) };
    }
    case 'reasoning': {
      const { content } = readPart(reasoningItem, item, at);
      return { ...emptyAnswer, reasoning: joined(content ?? [], `${at}.content`, omissions) };
    }
    default: {
      const isCall = foreignCalls.has(item.type);
      if (!isCall && !foreignItems.has(item.type))
        throw ServingError.UNSUPPORTED_PARAMETER({
          param: at,
          detail: `items of type ${item.type.slice(0, 40)}; only messages and function calls are supported.`,
        });
      omissions.foreign(at, item.type);
      return isCall ? { ...emptyAnswer, hasLeftOut: true } : undefined;
    }
  }
}

const answerMessage = ({ text, reasoning, calls, hasLeftOut }: Answer): ChatMessage => ({
  role: 'assistant',
  content: text !== '' ? text : calls.length > 0 ? null : hasLeftOut ? TOOL_PLACEHOLDER : '',
  ...defined({
    reasoning_content: reasoning === '' ? undefined : reasoning,
    tool_calls: calls.length === 0 ? undefined : [...calls],
  }),
});

type TextPart = { readonly type: 'text'; readonly text: string };

const textContent = (
  content: string | readonly Part[],
  param: string,
  omissions: Omissions,
): string | TextPart[] =>
  typeof content === 'string'
    ? content
    : content.map((part, at) => textPart(part, `${param}[${at}]`, omissions));

const joined = (content: string | readonly Part[], param: string, omissions: Omissions): string => {
  const parts = textContent(content, param, omissions);
  return typeof parts === 'string' ? parts : parts.map(({ text }) => text).join('');
};

const textTypes = ['input_text', 'output_text', 'reasoning_text', 'text'];

function textPart({ type, text, refusal }: Part, param: string, omissions: Omissions): TextPart {
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  if (type === 'input_image' || type === 'input_file') {
    omissions.file(param, type);
    return { type: 'text', text: type === 'input_image' ? IMAGE_PLACEHOLDER : DOCUMENT_PLACEHOLDER };
  }
  if (!textTypes.includes(type)) {
    const detail = `parts of type ${type.slice(0, 40)}; only text is supported.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  }
  if (typeof text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a text part requires a text.` });
  return { type: 'text', text };
}
