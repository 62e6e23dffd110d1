// @ts-check
import { isOwnPrompt } from './own-prompts.js';

/** @typedef {'main' | 'side'} TurnType */

/**
 * What OpenClaw reports about a run before it builds the prompt.
 *
 * @typedef {object} Run
 * @property {string} [runId]
 * @property {string} [sessionKey]
 * @property {string} [trigger] user, cron, heartbeat, memory, overflow or manual
 * @property {{ readonly kind?: string }} [inputProvenance] who wrote the prompt, if known
 */

/** Parts of session keys that mark background work. */
const backgroundMarks = [':subagent:', ':cron:', ':internal-session-effects:'];

/**
 * Whether a run is a person's conversation with the agent. Subagents and the announcement of their results also
 * have the trigger `user`; the session key and the run id identify them.
 *
 * @param {Run} run
 * @returns {TurnType}
 */
export function turnTypeOfRun({ runId = '', sessionKey = '', trigger, inputProvenance }) {
  const isBackground = backgroundMarks.some((part) => sessionKey.includes(part));
  const isAnnounced = runId.startsWith('announce:') || isFromElsewhere(inputProvenance?.kind);
  return trigger === 'user' && !isBackground && !isAnnounced ? 'main' : 'side';
}

/** @param {string | undefined} kind */
const isFromElsewhere = (kind) => kind === 'inter_session' || kind === 'internal_system';

/** @typedef {{ readonly session: string | undefined, readonly turnType: TurnType }} KnownRun */

/**
 * What is known before a request: runs by id, and the sessions that are being compacted.
 *
 * @typedef {object} Known
 * @property {(runId: string) => KnownRun | undefined} run
 * @property {(session: string) => KnownRun | undefined} latestRun
 * @property {(session: string) => boolean} isSession
 * @property {() => readonly string[]} compacting
 */

/** @typedef {{ readonly session: string | undefined, readonly turnType: TurnType | undefined }} Description */

/**
 * Describes a model request by its id, `<run id>:model:<n>` or `<run or session id>:compaction:<id>:model:<n>`;
 * the run of a compaction may be unknown, and ids may contain colons. The type of an unknown run and an unknown
 * session are left to the server. In a person's run, requests that OpenClaw makes by itself are side turns.
 *
 * OpenClaw 2026.6 sends no request ids: a request then belongs to the latest run of its session, and one without
 * a session is a compaction.
 *
 * @param {{ readonly sessionId?: string, readonly requestId?: string }} request
 * @param {import('./own-prompts.js').Context} context
 * @param {Known} known
 * @returns {Description}
 */
export function describeRequest({ sessionId, requestId = '' }, context, known) {
  const compaction =
    sessionId === undefined && requestId === '' ? '' : /^(.+):compaction:/.exec(requestId)?.[1];
  if (compaction !== undefined) {
    const under = known.compacting();
    const only = under.length === 1 ? under[0] : undefined;
    const session = known.isSession(compaction) || under.includes(compaction) ? compaction : only;
    return { session: sessionId ?? known.run(compaction)?.session ?? session, turnType: 'side' };
  }
  const runId = /^(.+):model:\d+$/.exec(requestId)?.[1];
  const latest = requestId === '' && sessionId !== undefined ? known.latestRun(sessionId) : undefined;
  const turnType = (runId === undefined ? latest : known.run(runId))?.turnType;
  return { session: sessionId, turnType: turnType === 'main' && isOwnPrompt(context) ? 'side' : turnType };
}
