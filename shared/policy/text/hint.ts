import type { ChatMessage } from '../../events/chat-message.ts';

/** The line before a hint in a request; claw-nano is trained on it. */
export const hintMarker = "[user's hint / instruction]";

const hintText = (hint: string): string => `\n\n${hintMarker}\n${hint}`;

/**
 * Appends a hint to one of the messages, as if its author had written it.
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
