import { shortHash } from '../lang/short-hash.ts';
import { type ChatMessage, contentText, isSystem } from './message.ts';

/** Hash of a text that an environment showed, for comparing states without keeping them. */
export const observedHash = (text: string): string => shortHash(text.trim());

/** Hash of each message that a request answers: those after the last answer, without the system text. */
export const observedIn = (messages: readonly ChatMessage[]): readonly string[] =>
  messages
    .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
    .filter((message) => !isSystem(message))
    .map(({ content }) => observedHash(contentText(content)));
