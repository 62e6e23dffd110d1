import type { ChatMessage } from '../../shared/chat/message.ts';
import { contentText } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';

/**
 * Messages under a user's or a tool's role that no person and no tool wrote: how they begin. They are
 * evidence of nothing, and a request whose latest user message is one is a side request.
 */
export const automatedKinds = [
  { kind: 'memory-flush', begins: ['Pre-compaction memory flush'] },
  {
    kind: 'heartbeat',
    begins: ['Follow the heartbeat monitor', '[OpenClaw heartbeat poll]', 'Read HEARTBEAT.md'],
  },
  {
    kind: 'cron',
    begins: ['[cron:', 'A scheduled reminder has been triggered', '[OpenClaw cron wake]'],
  },
  { kind: 'subagent', begins: ['[Subagent Context]'] },
  { kind: 'announce', begins: ['A background task completed.', '[Inter-session message]'] },
  { kind: 'repair', begins: ['The previous assistant turn recorded reasoning but did not'] },
  { kind: 'compaction-summary', begins: ['The conversation history before this point was compacted'] },
  { kind: 'bootstrap', begins: ['(session bootstrap)'] },
] as const;
export type AutomatedKind = (typeof automatedKinds)[number]['kind'];

/** A tool result that the client made up because the real one is missing. */
const madeUpToolResult = '[openclaw] missing tool result';

export const automatedKind = (words: string): AutomatedKind | undefined =>
  automatedKinds.find(({ begins }) => begins.some((beginning) => words.startsWith(beginning)))?.kind;

/** Whether a message that follows an answer tells something about it: user words and tool results do. */
export function isEvidence(message: ChatMessage): boolean {
  if (message.role === 'tool') return !contentText(message.content).startsWith(madeUpToolResult);
  if (message.role !== 'user') return false;
  const words = userWords(message);
  if (words === '')
    return Array.isArray(message.content) && message.content.some((part) => part.type !== 'text');
  return automatedKind(words) === undefined;
}
