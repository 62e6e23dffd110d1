import { isHuman } from '../chat/message.ts';
import { userWords } from '../chat/normalise.ts';
import type { ChatMessage } from '../events/chat-message.ts';

/** What a person said, without tool results. */
export const spokenIn = (next: readonly ChatMessage[]): string =>
  next
    .filter(isHuman)
    .map((message) => userWords(message) || textOf(message))
    .join(' ');

export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join(' ');
}
