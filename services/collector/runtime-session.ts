import { type ChatMessage, contentText, isHuman, isSystem } from '../../shared/chat/message.ts';

/** `Runtime: agent=main | session=... | sessionId=... | ...`: a line of its own */
const runtimeLine = /(?:^|\n)[ \t]*Runtime: [a-z_]+=[^\n]* \| [^\n]*/;
const sessionField = /\bsessionId=([^\s|]+)/;

/**
 * The session id out of the line that OpenClaw writes at the end of the first user message, or into the
 * system text.
 */
export function runtimeSession(messages: readonly ChatMessage[]): string | undefined {
  const first = messages.find(isHuman);
  for (const message of [first, ...messages.filter(isSystem)]) {
    const line = message && runtimeLine.exec(contentText(message.content))?.[0];
    const session = line && sessionField.exec(line)?.[1];
    if (session) return session;
  }
  return undefined;
}
