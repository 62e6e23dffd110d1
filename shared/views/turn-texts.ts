import { spokenMessages } from '../chat/client-blocks.ts';
import { isHuman } from '../chat/message.ts';
import { userWords } from '../chat/normalise.ts';
import type { ChatMessage } from '../events/chat-message.ts';
import type { InteractionCompleted } from '../events/interaction-completed.ts';
import { withoutSecrets } from '../secrets/find-secrets.ts';

/** What a person said, without tool results. */
export const spokenIn = (next: readonly ChatMessage[]): string =>
  next
    .filter(isHuman)
    .map((message) => userWords(message) || textOf(message))
    .join(' ');

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join(' ');
}

/** The last words of the person in a request. */
export function askedIn({ messages }: InteractionCompleted['data']): string {
  const lastWords = spokenMessages(messages).findLast(isHuman) ?? messages.findLast(isHuman);
  return (lastWords && userWords(lastWords)) || textOf(lastWords);
}

export const answeredIn = ({ answer }: InteractionCompleted['data']): string => textOf(answer);

/** Characters of a text that a list shows and the search by words reads. */
const SHOWN = 240;
/** Characters in which secrets are looked for; a secret that begins before SHOWN ends within them. */
const SEARCHED = 8_000;

/** The beginning, without secrets. A copy, since a slice would keep the whole text in memory. */
export const shortened = (text: string): string =>
  Buffer.from(withoutSecrets(text.slice(0, SEARCHED)).slice(0, SHOWN)).toString();
