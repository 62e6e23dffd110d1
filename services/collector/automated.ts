import { isSummary } from '../../shared/chat/client-blocks.ts';
import type { ChatMessage } from '../../shared/chat/message.ts';
import { contentText } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';

/**
 * Beginnings of messages that a client program wrote in the user or tool role. They are not evidence, and a
 * request whose latest user message is one of them is a side request.
 * The OpenClaw plugin has the same list in own-prompts.js; a test keeps the two equal.
 */
export const automatedKinds = [
  { kind: 'memory-flush', begins: ['Pre-compaction memory flush'] },
  {
    kind: 'heartbeat',
    begins: [
      'Follow the heartbeat monitor',
      '[OpenClaw heartbeat poll]',
      'Read HEARTBEAT.md if it exists',
      'Run the following periodic tasks',
    ],
  },
  {
    kind: 'cron',
    begins: [
      '[cron:',
      'A scheduled reminder has been triggered',
      '[OpenClaw cron wake]',
      'Write a dream diary entry from these memory fragments',
    ],
  },
  { kind: 'subagent', begins: ['[Subagent Context]'] },
  {
    kind: 'announce',
    begins: [
      'A background task completed.',
      'A completed subagent task is ready for parent review',
      'An async command did not run.',
      'An async command the user already approved has completed',
      'An async command completion event was triggered',
      'An async command you ran earlier',
      '[OpenClaw exec completion]',
      '[OpenClaw runtime event]',
      'Continue the OpenClaw runtime event.',
      '[Internal task completion event]',
      '[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]',
      '[Inter-session message]',
    ],
  },
  {
    kind: 'repair',
    begins: [
      'The previous assistant turn recorded reasoning but did not',
      'The previous assistant turn completed its tool calls but did not',
      'The previous attempt did not produce a user-visible answer',
      'The previous attempt compacted the conversation context',
      'Before accepting the previous final answer, apply this revision request',
    ],
  },
  {
    kind: 'session-start',
    begins: ['A new session was started via /new or /reset', '[OpenClaw session '],
  },
  {
    kind: 'probe',
    begins: ['Reply with OK. Do not use tools.', 'Reply with the single word OK. Do not use tools.'],
  },
  { kind: 'compaction-summary', begins: ['The conversation history before this point was compacted'] },
  { kind: 'bootstrap', begins: ['(session bootstrap)'] },
] as const;

export type AutomatedKind = (typeof automatedKinds)[number]['kind'];

/**
 * Tool results made up by the client: the real one is missing, or a message arrived before the tool could run.
 */
const syntheticToolResults = ['[openclaw] missing tool result', 'Skipped to process an incoming message.'];

/** @param clients recognise agent programs other than OpenClaw, too */
export const automatedKind = (words: string, clients = false): AutomatedKind | undefined =>
  automatedKinds.find(({ begins }) => begins.some((beginning) => words.startsWith(beginning)))?.kind ??
  (clients && isSummary(words) ? 'compaction-summary' : undefined);

/** Whether a message after an answer is evidence about it: user words and tool results are. */
export function isEvidence(message: ChatMessage, clients = false): boolean {
  if (message.role === 'tool') {
    const text = contentText(message.content);
    return !syntheticToolResults.some((beginning) => text.startsWith(beginning));
  }
  if (message.role !== 'user') return false;
  const words = userWords(message);
  if (words === '')
    return Array.isArray(message.content) && message.content.some((part) => part.type !== 'text');
  return automatedKind(words, clients) === undefined;
}
