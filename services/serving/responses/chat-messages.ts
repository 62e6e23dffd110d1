import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import { IMAGE_PLACEHOLDER, type Omissions } from '../chat/omissions.ts';
import { ServingError } from '../errors.ts';
import {
  callItem,
  type Item,
  messageItem,
  type Part,
  type ResponsesBody,
  readPart,
  reasoningItem,
  resultItem,
} from './fields.ts';
import { chatName } from './tools.ts';

/** Instructions are of one request alone, and are known by this name among the messages of a fact. */
const INSTRUCTIONS = 'instructions';

export const instructionsMessage = (content: string): ChatMessage => ({
  role: 'system',
  name: INSTRUCTIONS,
  content,
});

/** What a later request goes on from. */
export const withoutInstructions = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.filter(({ role, name }) => role !== 'system' || name !== INSTRUCTIONS);

/**
 * Input as messages of a chat. What the policy thought, said and called in one answer, items of their own
 * here, is one message there.
 * @throws ServingError UNSUPPORTED_PARAMETER for what is no text, INVALID_REQUEST
 */
export function chatMessages(input: ResponsesBody['input'], omissions: Omissions): readonly ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: ChatMessage[] = [];
  let answer: { text: string; reasoning: string; calls: ToolCall[] } | undefined;
  const finish = () => {
    if (answer !== undefined) messages.push(answerMessage(answer));
    answer = undefined;
  };
  for (const [index, item] of input.entries()) {
    if (isWordless(item)) continue;
    const part = partOf(item, `input[${index}]`, omissions);
    if ('role' in part) {
      finish();
      messages.push(part);
      continue;
    }
    answer ??= { text: '', reasoning: '', calls: [] };
    answer.text += part.text;
    answer.reasoning += part.reasoning;
    answer.calls.push(...part.calls);
  }
  finish();
  return messages;
}

type Answer = { readonly text: string; readonly reasoning: string; readonly calls: readonly ToolCall[] };
const nothing: Answer = { text: '', reasoning: '', calls: [] };

/** Some clients write a system message that says nothing. */
const isWordless = ({ type, role, content }: Item): boolean =>
  (type === undefined || type === 'message') &&
  (role === 'system' || role === 'developer') &&
  (content == null || content === '' || (Array.isArray(content) && content.length === 0));

/** A message, or what one item adds to an answer. */
function partOf(item: Item, at: string, omissions: Omissions): ChatMessage | Answer {
  switch (item.type) {
    case undefined:
    case 'message': {
      const { role, content } = readPart(messageItem, item, at);
      const param = `${at}.content`;
      return role === 'assistant'
        ? { ...nothing, text: joined(content, param, omissions) }
        : { role, content: textContent(content, param, omissions) };
    }
    case 'function_call': {
      const { call_id: id, arguments: given, ...called } = readPart(callItem, item, at);
      const written = typeof given === 'string' ? given : JSON.stringify(given);
      const call = { name: chatName(called), arguments: written };
      return { ...nothing, calls: [{ id, type: 'function', function: call }] };
    }
    case 'function_call_output': {
      const { call_id: id, output } = readPart(resultItem, item, at);
      return { role: 'tool', tool_call_id: id, content: textContent(output, `${at}.output`, omissions) };
    }
    case 'reasoning': {
      const { content } = readPart(reasoningItem, item, at);
      return { ...nothing, reasoning: joined(content ?? [], `${at}.content`, omissions) };
    }
    default:
      throw ServingError.UNSUPPORTED_PARAMETER({
        param: at,
        detail: `items of type ${item.type.slice(0, 40)}; messages and function calls only.`,
      });
  }
}

const answerMessage = ({ text, reasoning, calls }: Answer): ChatMessage => ({
  role: 'assistant',
  content: calls.length > 0 && text === '' ? null : text,
  ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
  ...(calls.length === 0 ? {} : { tool_calls: [...calls] }),
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
  if (type === 'input_image') {
    omissions.image(param, type);
    return { type: 'text', text: IMAGE_PLACEHOLDER };
  }
  if (!textTypes.includes(type)) {
    const detail = `parts of type ${type.slice(0, 40)}; text only.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  }
  if (typeof text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a text part needs a text.` });
  return { type: 'text', text };
}
