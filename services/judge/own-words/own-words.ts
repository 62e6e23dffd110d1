import { type ChatMessage, isHuman } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import { boundMessage } from './bound-text.ts';
import { tellsOfGroup } from './group-chat.ts';
import { isOfOtherAuthor } from './other-author.ts';
import { beforePassedOn } from './passed-on.ts';
import { plainForm } from './plain-form.ts';

export type OwnWords = {
  /** '' where nothing of the message is known to be the person's own */
  readonly words: string;
  /** the message holds more text than these words */
  readonly holdsOthers: boolean;
};

/**
 * What the person said, and not what they or their client passed on: quotations, code, mails, pages, output
 * of tools, reminders, other members of a group. The only way from a user message to a verdict or a hint.
 * Where it is not plain whose words they are, they are nobody's: a turn that stays unjudged costs less than
 * an author of a web page who trains the policy.
 * @param earlier the conversation so far, which tells whose agent it is
 */
export function readOwnWords(message: ChatMessage, earlier: readonly ChatMessage[] = []): OwnWords {
  if (!isHuman(message) || isOfOtherAuthor(message, earlier)) return { words: '', holdsOthers: true };
  const texts = textsOf(boundMessage(message));
  if (texts.some(tellsOfGroup)) return { words: '', holdsOthers: true };
  const said = texts
    .map((text) => plainForm(userWords({ role: 'user', content: text })).trim())
    .filter((text) => text !== '');
  const own = said.map(beforePassedOn).filter((text) => text !== '');
  // of several texts that are left, one may be a document: nothing tells which
  const words = own.length === 1 ? own[0]! : '';
  return { words, holdsOthers: said.length !== 1 || said[0] !== words };
}

export const ownWords = (message: ChatMessage): string => readOwnWords(message).words;

const textsOf = ({ content }: ChatMessage): readonly string[] =>
  Array.isArray(content)
    ? content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
    : [content ?? ''];
