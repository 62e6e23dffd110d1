// @ts-check

/**
 * Beginnings of messages that OpenClaw writes with the user role. Most come in separate runs, which have other
 * signs. Some come within a person's run: a retry for visible text, or the result of a subagent.
 */
export const ownPrompts = [
  'Pre-compaction memory flush',
  'Follow the heartbeat monitor',
  '[OpenClaw heartbeat poll]',
  'Read HEARTBEAT.md if it exists',
  'Run the following periodic tasks',
  '[cron:',
  'A scheduled reminder has been triggered',
  '[OpenClaw cron wake]',
  'Write a dream diary entry from these memory fragments',
  '[Subagent Context]',
  'A background task completed.',
  'A completed subagent task is ready for parent review',
  'An async command did not run.',
  'An async command the user already approved has completed',
  'An async command completion event was triggered',
  'An async command you ran earlier',
  '[OpenClaw exec completion]',
  '[OpenClaw runtime event]',
  '[OpenClaw session ',
  'Continue the OpenClaw runtime event.',
  '[Internal task completion event]',
  '[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]',
  '[Inter-session message]',
  'The previous assistant turn recorded reasoning but did not',
  'The previous assistant turn completed its tool calls but did not',
  'The previous attempt did not produce a user-visible answer',
  'The previous attempt compacted the conversation context',
  'Before accepting the previous final answer, apply this revision request',
  'A new session was started via /new or /reset',
  'Reply with OK. Do not use tools.',
  'Reply with the single word OK. Do not use tools.',
];

const internalContext = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>';
/** `[Sat 2026-11-21 00:26 UTC] ` */
const datePrefix = /^\s*\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,44}\]\s*/;

/** Separates runtime events from the person's words in the same message. */
const personsTurn = '\n\nCurrent parent turn:\n\n';

/** @typedef {{ readonly messages?: readonly unknown[] }} Context */

/**
 * Whether OpenClaw itself wrote the latest user message.
 *
 * @param {Context} context
 */
export function isOwnPrompt({ messages }) {
  for (const message of Array.isArray(messages) ? messages.toReversed() : []) {
    const words = wordsOfUser(message);
    if (words === undefined || words.startsWith(internalContext)) continue;
    return ownPrompts.some((beginning) => words.startsWith(beginning));
  }
  return false;
}

/**
 * @param {unknown} message
 * @returns {string | undefined} undefined: not a user message
 */
function wordsOfUser(message) {
  const { role, content } = /** @type {{ role?: unknown, content?: unknown }} */ (message ?? {});
  if (role !== 'user') return undefined;
  const parts = Array.isArray(content) ? content : [{ text: content }];
  const text = parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('\n');
  const whole = text.replace(datePrefix, '').trimStart();
  const at = whole.startsWith('[OpenClaw runtime event]') ? whole.lastIndexOf(personsTurn) : -1;
  return at === -1 ? whole : whole.slice(at + personsTurn.length).replace(datePrefix, '');
}
