import type { ChatMessage } from '../../../shared/chat/message.ts';
import { defined } from '../../../shared/lang/defined.ts';

/** Characters that are read at each end of a text. */
const READ_FROM_EACH_END = 4000;

/** Start and end of a long text; a text that is not longer than both is unchanged. Constant time. */
export function boundText(text: string, each: number = READ_FROM_EACH_END): string {
  if (text.length <= 2 * each) return text;
  return `${text.slice(0, each)}\n\n${text.slice(-each)}`;
}

/** Maximum text parts that are read per message. Clients that send more send documents. */
const MOST_PARTS = 16;

/** The message with bounded texts and only its role, author and status marks. */
export function boundMessage(message: ChatMessage, each: number = READ_FROM_EACH_END): ChatMessage {
  const { role, content } = message;
  const marks = Object.fromEntries(
    ['is_error', 'isError', 'name'].filter((name) => name in message).map((name) => [name, message[name]]),
  );
  if (!Array.isArray(content)) return { role, content: boundText(content ?? '', each), ...marks };
  const firstParts = content.slice(0, MOST_PARTS).map(({ type, text }) => ({
    type,
    ...defined({ text: text === undefined ? undefined : boundText(text, each) }),
  }));
  const others = content.length > MOST_PARTS ? [{ type: 'more' }] : [];
  return { role, content: [...firstParts, ...others], ...marks };
}
