import type { ChatMessage } from '../events/chat-message.ts';

/** The line under which a hint stands in a request; claw-nano knows it from its training. */
export const hintMarker = "[user's hint / instruction]";

const hintText = (hint: string): string => `\n\n${hintMarker}\n${hint}`;

/**
 * The messages with a hint at the end of one of them, as if its author had said what they said only later.
 *
 * @param at index of that message
 */
export const withHint = (
  messages: readonly ChatMessage[],
  at: number,
  hint: string,
): readonly ChatMessage[] =>
  messages.map((message, index) => {
    if (index !== at) return message;
    const { content } = message;
    return Array.isArray(content)
      ? { ...message, content: [...content, { type: 'text', text: hintText(hint) }] }
      : { ...message, content: `${content ?? ''}${hintText(hint)}`.trim() };
  });
