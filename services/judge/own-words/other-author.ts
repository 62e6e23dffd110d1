import { type ChatMessage, isHuman } from '../../../shared/chat/message.ts';

/**
 * Whether the `name` of a message, or its lack, tells of another author than that of the earlier requests.
 * Where those have several authors, nobody knows whose agent this is.
 */
export function isOfOtherAuthor({ name }: ChatMessage, earlier: readonly ChatMessage[]): boolean {
  const authors = new Set(earlier.filter(isHuman).map((message) => message.name));
  return authors.size > 1 || (authors.size === 1 && !authors.has(name));
}
