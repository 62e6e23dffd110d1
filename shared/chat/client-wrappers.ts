import { spokenMessages } from './client-blocks.ts';
import { type ChatMessage, type ContentPart, isInternalContext, isSystem } from './message.ts';
import { runtimeLine, userWords } from './normalise.ts';

/** Blocks whose text is the person's own. */
const wordTags: ReadonlySet<string> = new Set(['user_query', 'user_request', 'user_message', 'user-message']);

/** Clients name their blocks in several words (`system-reminder`); what people paste rarely is: `div`, `code`. */
const opening = /<([a-z]+(?:[-_][a-z]+)+)(?: [^<>\n]{0,200})?>/y;

/** What Claude Code puts before its system text; it changes between requests. */
const billingLine = /^x-anthropic-billing-header:[^\n]*(?:\n|$)/;

/**
 * A message without what its client wrote around a person's words: what `spokenMessages` leaves out, lines on the
 * runtime, dates, and blocks before the words whose names tell a client, known or not. Undefined: nothing else was
 * in it. A pure function of the message, so that a history which grows keeps its beginning.
 */
export function withoutWrappers(message: ChatMessage): ChatMessage | undefined {
  const said = message.role === 'user' ? spokenMessages([message])[0]! : message;
  if (isInternalContext(said)) return undefined;
  const bare = isSystem(said) ? bareSystemText : said.role === 'user' ? bareUserText : undefined;
  return bare === undefined ? said : withText(said, bare);
}

const bareSystemText = (text: string): string => text.replace(billingLine, '').replace(runtimeLine, '');

/** Words that have nothing around them stay as they are, white space included. */
function bareUserText(text: string): string {
  const words = withoutBlocks(userWords({ role: 'user', content: text }));
  return words === text.replaceAll('\r\n', '\n').trim() ? text : words;
}

/** A message that was empty before stays. */
function withText(message: ChatMessage, bare: (text: string) => string): ChatMessage | undefined {
  const { content } = message;
  if (typeof content === 'string') {
    const text = bare(content);
    if (text === content) return message;
    return text === '' ? undefined : { ...message, content: text };
  }
  if (!Array.isArray(content)) return message;
  const parts = content.flatMap((part): readonly ContentPart[] => {
    if (part.type !== 'text' || part.text === undefined) return [part];
    const text = bare(part.text);
    if (text === part.text) return [part];
    return text === '' ? [] : [{ ...part, text }];
  });
  const isSame = parts.length === content.length && parts.every((part, index) => part === content[index]);
  if (isSame) return message;
  return parts.length === 0 ? undefined : { ...message, content: parts };
}

/** Without the client's blocks at its beginning; each is looked at once, however many there are. */
function withoutBlocks(text: string): string {
  const first = skipSpace(text, 0);
  let start = first;
  for (;;) {
    opening.lastIndex = start;
    const name = opening.exec(text)?.[1];
    if (name === undefined || wordTags.has(name)) break;
    const close = text.indexOf(`</${name}>`, start);
    if (close === -1) break;
    start = skipSpace(text, close + name.length + '</>'.length);
  }
  return start === first ? text : text.slice(start);
}

const isSpace = (character: string): boolean => character.trim() === '';

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text[at]!)) at += 1;
  return at;
}
