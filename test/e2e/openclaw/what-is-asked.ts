import { contentText, isHuman, isSystem } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';

/** The kinds of request that OpenClaw sends. */
export type Kind =
  | 'conversation'
  | 'memory-flush'
  | 'compaction'
  | 'recap'
  | 'title'
  | 'heartbeat'
  | 'cron'
  | 'subagent'
  | 'announce'
  | 'repair';

export type Asked = {
  readonly kind: Kind;
  /** of the latest message that is not internal context; '' if there is none */
  readonly words: string;
};

/** By the beginning of the system text, then by that of the latest message that is not internal context. */
const bySystem: readonly (readonly [string, Kind])[] = [
  ['You are a context summarization', 'compaction'],
  ['Write an Activity recap', 'recap'],
  ['Generate a concise session title', 'title'],
];
const byWords: readonly (readonly [string, Kind])[] = [
  ['Pre-compaction memory flush', 'memory-flush'],
  ['Follow the heartbeat monitor', 'heartbeat'],
  ['[cron:', 'cron'],
  ['A scheduled reminder', 'cron'],
  ['[Subagent Context]', 'subagent'],
  ['A background task completed', 'announce'],
  ['[[OPENCLAW_INTERNAL_CONTEXT', 'announce'],
  ['The previous assistant turn', 'repair'],
  ['The previous attempt', 'repair'],
];

/** The kind of a request by the test's own rules, for comparison with the collector's attribution. */
export function askedFor(messages: readonly ChatMessage[]): Asked {
  const systemText = messages
    .filter(isSystem)
    .map(({ content }) => contentText(content))
    .join('\n');
  const words = messages.filter(isHuman).map(userWords).filter(Boolean).at(-1) ?? '';
  const [, kind = 'conversation'] =
    bySystem.find(([beginning]) => systemText.startsWith(beginning)) ??
    byWords.find(([beginning]) => words.startsWith(beginning)) ??
    [];
  return { kind, words };
}
