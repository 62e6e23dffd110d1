import { spokenMessages } from './client-blocks.ts';
import { type ChatMessage, type ContentPart, isInternalContext, isSystem } from './message.ts';
import { runtimeLine, userWords } from './normalise.ts';

/** Tags of blocks that contain the person's words. */
const wordTags: ReadonlySet<string> = new Set(['user_query', 'user_request', 'user_message', 'user-message']);

/** Clients use tags of several words (`system-reminder`); pasted text rarely does (`div`, `code`). */
const opening = /<([a-z]+(?:[-_][a-z]+)+)(?: [^<>\n]{0,200})?>/y;

/** Claude Code puts this line before its system text; it changes between requests. */
const billingLine = /^x-anthropic-billing-header:[^\n]*(?:\n|$)/;

/**
 * Removes the additions of a client from a message: everything that `spokenMessages` removes, runtime lines,
 * dates, and leading blocks with a client-like tag. Undefined: nothing else is in it. A pure function of the
 * message, so that a growing history keeps its beginning.
 */
export function withoutWrappers(message: ChatMessage): ChatMessage | undefined {
  const spoken = message.role === 'user' ? spokenMessages([message])[0]! : message;
  if (isInternalContext(spoken)) return undefined;
  const bare = isSystem(spoken) ? bareSystemText : spoken.role === 'user' ? bareUserText : undefined;
  return bare === undefined ? spoken : withText(spoken, bare);
}

const bareSystemText = (text: string): string => text.replace(billingLine, '').replace(runtimeLine, '');

/** Text without additions is kept unchanged, including white space. */
function bareUserText(text: string): string {
  const words = withoutBlocks(userWords({ role: 'user', content: text }));
  return words === text.replaceAll('\r\n', '\n').trim() ? text : words;
}

/** Undefined if no text is left; an originally empty message stays. */
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

/** Removes the client's leading blocks, in linear time. */
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
