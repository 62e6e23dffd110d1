import { type ChatMessage, isHuman } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import { withoutInvisible } from '../../../shared/secrets/fold-text.ts';
import { boundMessage } from './bound-text.ts';
import { beforePassedOn } from './passed-on.ts';

type OwnWords = {
  /** '' if no part of the message is known to be the person's own */
  readonly words: string;
  /** the message contains more text than these words */
  readonly holdsOthers: boolean;
};

/**
 * The person's own words, without text that they or their client passed on: quotations, code, mails, pages, tool
 * output, reminders, other members of a group. Verdicts and hints from user messages come only through here. If the
 * author is not plain, there are no own words: an unjudged turn costs less than a policy trained by a web page.
 * @param earlier the conversation so far, which shows whose agent it is
 */
export function readOwnWords(message: ChatMessage, earlier: readonly ChatMessage[] = []): OwnWords {
  if (!isHuman(message) || isOfOtherAuthor(message, earlier)) return { words: '', holdsOthers: true };
  const texts = textsOf(boundMessage(message));
  if (texts.some(isGroupMessage)) return { words: '', holdsOthers: true };
  const plainTexts = texts
    .map((text) => plainForm(userWords({ role: 'user', content: text })).trim())
    .filter((text) => text !== '');
  const ownTexts = plainTexts.map(beforePassedOn).filter((text) => text !== '');
  // if several texts are left, one may be a document
  const words = ownTexts.length === 1 ? ownTexts[0]! : '';
  return { words, holdsOthers: plainTexts.length !== 1 || plainTexts[0] !== words };
}

/**
 * The own words of each user message.
 * @param earlier the conversation before these messages
 */
export const ownWordsOf = (
  messages: readonly ChatMessage[],
  earlier: readonly ChatMessage[] = [],
): readonly OwnWords[] =>
  messages.filter(({ role }) => role === 'user').map((message) => readOwnWords(message, earlier));

const textsOf = ({ content }: ChatMessage): readonly string[] =>
  Array.isArray(content)
    ? content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
    : [content ?? ''];

/** OpenClaw puts blocks around the text from a channel; this mark ends the first line of each block. */
const mark = '⟦openclaw:ctx⟧';
/** JSON fields in such a block that only a group message has. */
const groupField =
  /"(?:is_group(?:_chat)?"\s{0,4}:\s{0,4}true|group_\w{1,30}"\s{0,4}:\s{0,4}"[^"]|chat_type"\s{0,4}:\s{0,4}"(?:group|channel|supergroup)")/;

/** Whether the OpenClaw blocks show a group message, which any member may have written. */
function isGroupMessage(text: string): boolean {
  const first = text.indexOf(mark);
  return first !== -1 && groupField.test(text.slice(first));
}

/**
 * Whether the `name` of a message (or its absence) differs from the author of the earlier requests. Also true if
 * those have several authors, because then it is unknown whose agent this is.
 */
function isOfOtherAuthor({ name }: ChatMessage, earlier: readonly ChatMessage[]): boolean {
  const authors = new Set(earlier.filter(isHuman).map((message) => message.name));
  return authors.size > 1 || (authors.size === 1 && !authors.has(name));
}

/** All line ends but `\n`. */
const lineEnd = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/** Colons of other scripts, which have no space behind them. */
const wideColon = /[：﹕︰︓]\s?/g;
const entity =
  /&(?:amp;){0,4}(?:(lt|#0{0,4}60|#x0{0,4}3c)|(gt|#0{0,4}62|#x0{0,4}3e)|quot|#0{0,4}34|#x0{0,4}22);/gi;

/** Normalises a text for the rules: uniform line ends, no invisible characters, full-width forms or HTML entities. */
const plainForm = (text: string): string =>
  withoutInvisible(text)
    .replace(lineEnd, '\n')
    .replace(wideColon, ': ')
    .normalize('NFKC')
    .replace(entity, (_, less?: string, greater?: string) => (less ? '<' : greater ? '>' : '"'));
