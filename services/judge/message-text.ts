import type { ChatMessage } from '../../shared/chat/message.ts';
import { type OwnWords, readOwnWords } from './own-words/own-words.ts';

/** What people said, without what they passed on and what their client put around it. */
export const personsWords = (messages: readonly ChatMessage[]): readonly string[] =>
  ownWordsOf(messages).map(({ words }) => words);

/** @param earlier the conversation before these messages */
export const ownWordsOf = (
  messages: readonly ChatMessage[],
  earlier: readonly ChatMessage[] = [],
): readonly OwnWords[] =>
  messages.filter(({ role }) => role === 'user').map((message) => readOwnWords(message, earlier));
