import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import { IMAGE_PLACEHOLDER, type Omissions } from '../chat/omissions.ts';
import { ServingError } from '../errors.ts';
import type { Block, Message, MessagesBody } from './fields.ts';

/**
 * Anthropic's system text and messages as those of a chat: each `tool_result` becomes a message of its own.
 * @throws ServingError UNSUPPORTED_PARAMETER for what is no text, INVALID_REQUEST
 */
export function chatMessages(
  { system, messages }: Pick<MessagesBody, 'system' | 'messages'>,
  omissions: Omissions,
) {
  if (messages.at(-1)!.role === 'assistant') {
    const detail = 'an answer is not begun for the policy; the last message must not be of the assistant.';
    throw ServingError.UNSUPPORTED_PARAMETER({ param: `messages.${messages.length - 1}`, detail });
  }
  const isSilent = system === undefined || system === null || system.length === 0;
  return [
    ...(isSilent ? [] : [{ role: 'system', content: textContent(system, 'system', omissions) } as const]),
    ...messages.flatMap((message, at) => messageOf(message, `messages.${at}.content`, omissions)),
  ];
}

function messageOf({ role, content }: Message, param: string, omissions: Omissions): readonly ChatMessage[] {
  if (role === 'system') return systemOf(content ?? '', param, omissions);
  if (content == null || (content.length === 0 && role !== 'assistant'))
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: a ${role} message needs content.` });
  if (typeof content === 'string') return [{ role, content }];
  return role === 'assistant' ? [assistantOf(content, param, omissions)] : userOf(content, param, omissions);
}

/** One without words, as a client may write to change its own settings, says nothing to the policy. */
function systemOf(
  content: string | readonly Block[],
  param: string,
  omissions: Omissions,
): readonly ChatMessage[] {
  return content.length === 0 ? [] : [{ role: 'system', content: textContent(content, param, omissions) }];
}

/** Text that stands between results keeps its place. */
function userOf(blocks: readonly Block[], param: string, omissions: Omissions): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let said: TextPart[] = [];
  const finishText = () => {
    if (said.length > 0) messages.push({ role: 'user', content: said });
    said = [];
  };
  for (const [at, block] of blocks.entries()) {
    if (block.type === 'tool_result') {
      finishText();
      messages.push(resultOf(block, `${param}.${at}`, omissions));
    } else said.push(textPart(block, `${param}.${at}`, omissions));
  }
  finishText();
  return messages;
}

function resultOf(block: Block, param: string, omissions: Omissions): ChatMessage {
  const { tool_use_id: id, content = '', is_error: isError } = block;
  const isKnown = typeof content === 'string' || (Array.isArray(content) && content.every(isBlock));
  if (typeof id !== 'string' || !isKnown) {
    const detail = `${param}: a tool_result needs a tool_use_id, and content of text or blocks.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return {
    role: 'tool',
    tool_call_id: id,
    content: content.length === 0 ? '' : textContent(content, `${param}.content`, omissions),
    ...(isError === true ? { is_error: true } : {}),
  };
}

/** The texts of an answer are joined, as they were when it was given. */
function assistantOf(blocks: readonly Block[], param: string, omissions: Omissions): ChatMessage {
  let text = '';
  let reasoning = '';
  const calls: ToolCall[] = [];
  for (const [at, block] of blocks.entries()) {
    const here = `${param}.${at}`;
    if (block.type === 'thinking') reasoning += typeof block.thinking === 'string' ? block.thinking : '';
    else if (block.type === 'redacted_thinking')
      continue; // nobody here can read it
    else if (block.type === 'tool_use') calls.push(callOf(block, here));
    else text += textPart(block, here, omissions).text;
  }
  return {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function callOf({ id, name, input }: Block, param: string): ToolCall {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof input !== 'object' || input === null) {
    const detail = `${param}: a tool_use needs an id, a name and an input.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

type TextPart = { readonly type: 'text'; readonly text: string };

const textContent = (
  content: string | readonly Block[],
  param: string,
  omissions: Omissions,
): string | TextPart[] =>
  typeof content === 'string'
    ? content
    : content.map((block, at) => textPart(block, `${param}.${at}`, omissions));

function textPart({ type, text }: Block, param: string, omissions: Omissions): TextPart {
  if (type === 'image') {
    omissions.image(param, type);
    return { type: 'text', text: IMAGE_PLACEHOLDER };
  }
  if (type !== 'text') {
    const detail = `blocks of type ${type.slice(0, 40)}; text only.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  }
  if (typeof text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: a text block needs a text.` });
  return { type, text };
}

const isBlock = (value: unknown): value is Block =>
  typeof value === 'object' && value !== null && typeof (value as Block).type === 'string';
