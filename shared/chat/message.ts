import type { ChatMessage } from '../events/chat-message.ts';

export {
  type ChatMessage,
  type ContentPart,
  chatMessage,
  contentPart,
  type ToolCall,
  toolCall,
} from '../events/chat-message.ts';

/**
 * The text of a message: its text parts joined; other parts (images) give none. '' where there is no content.
 */
export function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}

/** The texts of a message that a template may write into a prompt. */
export const messageTexts = ({
  content,
  reasoning_content,
  tool_calls = [],
}: ChatMessage): readonly string[] => [
  contentText(content),
  reasoning_content ?? '',
  ...tool_calls.map(({ function: called }) => `${called.name} ${called.arguments}`),
];

/** System and developer messages say the same under two names. */
export const isSystem = (message: ChatMessage): boolean =>
  message.role === 'system' || message.role === 'developer';

const internalContextStart = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>';
const internalContextEnd = '<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
/** How a request that broke off after a tool's result is tried again; a date may stand before it. */
const goOn =
  /^(?:\[[^\]\n]{1,60}\]\s*)?Continue the current task from the existing transcript, preserving completed work/;

/**
 * Whether a message is what the OpenClaw client says to the model by itself, under the user's role: it ends
 * most requests, is made anew for each, and never becomes history.
 */
export function isInternalContext(message: ChatMessage): boolean {
  if (message.role !== 'user') return false;
  const text = contentText(message.content).trim();
  return (text.startsWith(internalContextStart) && text.endsWith(internalContextEnd)) || goOn.test(text);
}

/** What stands in the place of a message that nobody but a program wrote. */
export const emptyContext: ChatMessage = {
  role: 'user',
  content: `${internalContextStart}${internalContextEnd}`,
};

/** Whether a message holds what a person (or a program in a person's place) said. */
export const isHuman = (message: ChatMessage): boolean =>
  message.role === 'user' && !isInternalContext(message);
