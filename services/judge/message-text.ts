import { type ChatMessage, contentText, isHuman } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';

/** What people said, without what their client put around it. */
export const personsWords = (messages: readonly ChatMessage[]): readonly string[] =>
  messages.filter(isHuman).map(userWords);

export const toolOutputs = (messages: readonly ChatMessage[]): readonly string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => contentText(content));

/** What the person asked for last, before the answer. */
export const lastRequest = (messages: readonly ChatMessage[]): string => personsWords(messages).at(-1) ?? '';
