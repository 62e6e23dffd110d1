import type { ChatMessage, ToolCall } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { ServingError } from '../../errors.ts';
import { type Omissions, TOOL_PLACEHOLDER } from '../request/omissions.ts';
import { blockTexts, isBlock, type TextPart } from './block-texts.ts';
import type { Block, Message, MessagesBody } from './fields.ts';

/**
 * Translates Anthropic's system text and messages to chat messages. Each `tool_result` becomes a separate message.
 * @throws ServingError UNSUPPORTED_PARAMETER for content that is not text, INVALID_REQUEST
 */
export function chatMessages(
  { system, messages }: Pick<MessagesBody, 'system' | 'messages'>,
  omissions: Omissions,
) {
  const hasNoSystem = system === undefined || system === null || system.length === 0;
  return [
    ...(hasNoSystem ? [] : [{ role: 'system', content: textContent(system, 'system', omissions) } as const]),
    ...messages.flatMap((message, at) => messageOf(message, `messages.${at}.content`, omissions)),
  ];
}

function messageOf({ role, content }: Message, param: string, omissions: Omissions): readonly ChatMessage[] {
  if (role === 'system') return systemOf(content ?? '', param, omissions);
  if (content == null || (content.length === 0 && role !== 'assistant'))
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: a ${role} message requires content.` });
  if (typeof content === 'string') return [{ role, content }];
  return role === 'assistant' ? [assistantOf(content, param, omissions)] : userOf(content, param, omissions);
}

/** Leaves out an empty system message; some clients send one to change their own settings. */
function systemOf(
  content: string | readonly Block[],
  param: string,
  omissions: Omissions,
): readonly ChatMessage[] {
  return content.length === 0 ? [] : [{ role: 'system', content: textContent(content, param, omissions) }];
}

/** Text between results keeps its position. */
function userOf(blocks: readonly Block[], param: string, omissions: Omissions): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let textParts: TextPart[] = [];
  const finishText = () => {
    if (textParts.length > 0) messages.push({ role: 'user', content: textParts });
    textParts = [];
  };
  for (const [at, block] of blocks.entries()) {
    if (block.type === 'tool_result') {
      finishText();
      messages.push(resultOf(block, `${param}.${at}`, omissions));
    } else textParts.push(...blockTexts(block, `${param}.${at}`, omissions));
  }
  finishText();
  return messages.length > 0 ? messages : [{ role: 'user', content: [toolPlaceholder] }];
}

function resultOf(block: Block, param: string, omissions: Omissions): ChatMessage {
  const { tool_use_id: id, content = '', is_error: isError } = block;
  const isKnown = typeof content === 'string' || (Array.isArray(content) && content.every(isBlock));
  if (typeof id !== 'string' || !isKnown) {
    const detail = `${param}: a tool_result requires a tool_use_id, and content that is text or blocks.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return {
    role: 'tool',
    tool_call_id: id,
    content: content.length === 0 ? '' : textContent(content, `${param}.content`, omissions),
    ...defined({ is_error: isError === true ? true : undefined }),
  };
}

/** Joins the texts of an answer, so that it equals the original answer. */
function assistantOf(blocks: readonly Block[], param: string, omissions: Omissions): ChatMessage {
  let text = '';
  let reasoning = '';
  let hasLeftOut = false;
  const calls: ToolCall[] = [];
  for (const [at, block] of blocks.entries()) {
    const blockParam = `${param}.${at}`;
    if (block.type === 'thinking') reasoning += typeof block.thinking === 'string' ? block.thinking : '';
    else if (block.type === 'redacted_thinking')
      continue; // only Anthropic can decrypt it
    else if (block.type === 'tool_use') calls.push(callOf(block, blockParam));
    else {
      const parts = blockTexts(block, blockParam, omissions);
      if (parts.length === 0) hasLeftOut = true;
      for (const part of parts) text += part.text;
    }
  }
  if (text === '' && calls.length === 0 && hasLeftOut) text = TOOL_PLACEHOLDER;
  return {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    ...defined({
      reasoning_content: reasoning === '' ? undefined : reasoning,
      tool_calls: calls.length === 0 ? undefined : calls,
    }),
  };
}

function callOf({ id, name, input }: Block, param: string): ToolCall {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof input !== 'object' || input === null) {
    const detail = `${param}: a tool_use requires an id, a name and an input.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

/** A message of nothing but blocks that are left out keeps a placeholder. */
function textContent(
  content: string | readonly Block[],
  param: string,
  omissions: Omissions,
): string | TextPart[] {
  if (typeof content === 'string') return content;
  const parts = content.flatMap((block, at) => blockTexts(block, `${param}.${at}`, omissions));
  return parts.length > 0 ? parts : [toolPlaceholder];
}

const toolPlaceholder: TextPart = { type: 'text', text: TOOL_PLACEHOLDER };
