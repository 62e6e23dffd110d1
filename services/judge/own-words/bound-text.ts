import type { ChatMessage } from '../../../shared/chat/message.ts';

/** What is read of a text, characters from each end. No rule looks at more. */
export const READ_FROM_EACH_END = 4000;

/** Start and end of a text that is longer than both together. Takes no longer for a longer text. */
export function boundText(text: string, each: number = READ_FROM_EACH_END): string {
  if (text.length <= 2 * each) return text;
  return `${text.slice(0, each)}\n\n${text.slice(-each)}`;
}

/** Text parts of one message that are read. A client that sends more sends documents. */
const MOST_PARTS = 16;

/** The message with its texts bounded, and nothing else of it but its kind, its author and its status. */
export function boundMessage(message: ChatMessage, each: number = READ_FROM_EACH_END): ChatMessage {
  const { role, content } = message;
  const marks = Object.fromEntries(
    ['is_error', 'isError', 'name'].filter((name) => name in message).map((name) => [name, message[name]]),
  );
  if (!Array.isArray(content)) return { role, content: boundText(content ?? '', each), ...marks };
  const shown = content.slice(0, MOST_PARTS).map(({ type, text }) => ({
    type,
    ...(text === undefined ? {} : { text: boundText(text, each) }),
  }));
  const others = content.length > MOST_PARTS ? [{ type: 'more' }] : [];
  return { role, content: [...shown, ...others], ...marks };
}
