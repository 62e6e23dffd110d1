import type { ChatMessage } from '../events/chat-message.ts';

export type {
  ChatMessage,
  ContentPart,
  ToolCall,
} from '../events/chat-message.ts';

/** The joined text parts of a message, without other parts such as images; '' without content. */
export function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}

/** The texts of a message that a template may put into a prompt. */
export const messageTexts = ({
  content,
  reasoning_content,
  tool_calls = [],
}: ChatMessage): readonly string[] => [
  contentText(content),
  reasoning_content ?? '',
  ...tool_calls.map(({ function: called }) => `${called.name} ${called.arguments}`),
];

/** System and developer are two names of the same role. */
export const isSystem = (message: ChatMessage): boolean =>
  message.role === 'system' || message.role === 'developer';

const internalContextStart = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>';
const internalContextEnd = '<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
/** Retry of a request that broke off after a tool result; a date may precede it. */
const goOn =
  /^(?:\[[^\]\n]{1,60}\]\s*)?Continue the current task from the existing transcript, preserving completed work/;

/**
 * Whether a message is internal context that OpenClaw sends with the user role: it ends most requests, is new for
 * each, and never becomes history.
 */
export function isInternalContext(message: ChatMessage): boolean {
  if (message.role !== 'user') return false;
  const text = contentText(message.content).trim();
  return (text.startsWith(internalContextStart) && text.endsWith(internalContextEnd)) || goOn.test(text);
}

/** Replaces a message that only a program wrote. */
export const emptyContext: ChatMessage = {
  role: 'user',
  content: `${internalContextStart}${internalContextEnd}`,
};

/** Whether a message has the words of a person, or of a program in their place. */
export const isHuman = (message: ChatMessage): boolean =>
  message.role === 'user' && !isInternalContext(message);
