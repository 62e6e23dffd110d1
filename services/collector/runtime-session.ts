import { type ChatMessage, contentText, isHuman, isSystem } from '../../shared/chat/message.ts';

/** `Runtime: agent=main | session=... | sessionId=... | ...`: a line of its own */
const runtimeLine = /(?:^|\n)[ \t]*Runtime: [a-z_]+=[^\n]* \| [^\n]*/;
const sessionKey = /\bsession=([^\s|]+)/;
const sessionField = /\bsessionId=([^\s|]+)/;

/** What works beside a conversation says so in the key of its session, which outlives a compaction. */
const kindsOfKeys = [
  { kind: 'memory-flush', part: ':internal-session-effects:' },
  { kind: 'subagent', part: ':subagent:' },
  { kind: 'cron', part: ':cron:' },
] as const;

export type RuntimeLine = {
  /**
   * id of the session; undefined where there is none, and for a memory flush, whose id is made up: its
   * messages are those of the conversation that it belongs to
   */
  readonly session: string | undefined;
  /** undefined: a conversation with a person, as far as this line tells */
  readonly kind: (typeof kindsOfKeys)[number]['kind'] | undefined;
};

/**
 * The line that OpenClaw writes at the end of the first user message, as a part of its own or not, or into
 * the system text.
 */
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
