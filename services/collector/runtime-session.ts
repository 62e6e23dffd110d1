import { type ChatMessage, contentText, isHuman, isSystem } from '../../shared/chat/message.ts';

/** `Runtime: agent=main | session=... | sessionId=... | ...` on its own line */
const runtimeLine = /(?:^|\n)[ \t]*Runtime: [a-z_]+=[^\n]* \| [^\n]*/;
const sessionKey = /\bsession=([^\s|]+)/;
const sessionField = /\bsessionId=([^\s|]+)/;

/** Activities beside a conversation are named in the key of their session, which survives a compaction. */
const kindsOfKeys = [
  { kind: 'memory-flush', part: ':internal-session-effects:' },
  { kind: 'subagent', part: ':subagent:' },
  { kind: 'cron', part: ':cron:' },
] as const;

export type RuntimeLine = {
  /**
   * id of the session; undefined if there is none, and for a memory flush, whose generated id differs from that
   * of the conversation that it belongs to
   */
  readonly session: string | undefined;
  /** undefined: a conversation with a person, according to this line */
  readonly kind: (typeof kindsOfKeys)[number]['kind'] | undefined;
};

/** Reads the line that OpenClaw writes into the system text or at the end of the first user message. */
export function readRuntimeLine(messages: readonly ChatMessage[]): RuntimeLine {
  const first = messages.find(isHuman);
  for (const text of [first, ...messages.filter(isSystem)].flatMap(textsOf)) {
    const line = runtimeLine.exec(text)?.[0];
    if (line === undefined) continue;
    const key = sessionKey.exec(line)?.[1] ?? '';
    const kind = kindsOfKeys.find(({ part }) => key.includes(part))?.kind;
    const session = kind === 'memory-flush' ? undefined : sessionField.exec(line)?.[1];
    if (session !== undefined || kind !== undefined) return { session, kind };
  }
  return { session: undefined, kind: undefined };
}

function textsOf(message: ChatMessage | undefined): readonly string[] {
  const content = message?.content;
  return Array.isArray(content) ? content.map((part) => contentText([part])) : [contentText(content)];
}
