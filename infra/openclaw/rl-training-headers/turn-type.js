// @ts-check
import { isOwnPrompt } from './own-prompts.js';

/** @typedef {'main' | 'side'} TurnType */

/**
 * What OpenClaw tells of a run before it builds the run's prompt.
 *
 * @typedef {object} Run
 * @property {string} [runId]
 * @property {string} [sessionKey]
 * @property {string} [trigger] user, cron, heartbeat, memory, overflow or manual
 * @property {{ readonly kind?: string }} [inputProvenance] who wrote the prompt, where that is known
 */

/** Parts of the session keys of what works beside a conversation. */
const besideConversation = [':subagent:', ':cron:', ':internal-session-effects:'];

/**
 * Whether the model requests of a run are a person's conversation with the agent. The triggers of a subagent
 * and of the news of its result are `user` too: the session key and the run's id tell those.
 *
 * @param {Run} run
 * @returns {TurnType}
 */
export function turnTypeOfRun({ runId = '', sessionKey = '', trigger, inputProvenance }) {
  const isBeside = besideConversation.some((part) => sessionKey.includes(part));
  const isAnnounced = runId.startsWith('announce:') || isFromElsewhere(inputProvenance?.kind);
  return trigger === 'user' && !isBeside && !isAnnounced ? 'main' : 'side';
}

/** @param {string | undefined} kind */
const isFromElsewhere = (kind) => kind === 'inter_session' || kind === 'internal_system';

/** @typedef {{ readonly session: string | undefined, readonly turnType: TurnType }} KnownRun */

/**
 * What was told before a request: runs by their id, and the sessions whose history is being summarised.
 *
 * @typedef {object} Known
 * @property {(runId: string) => KnownRun | undefined} run
 * @property {(session: string) => KnownRun | undefined} latestRun
 * @property {(session: string) => boolean} isSession
 * @property {() => readonly string[]} compacting
 */

/** @typedef {{ readonly session: string | undefined, readonly turnType: TurnType | undefined }} Description */

/**
 * What a model request says of itself. Its id is `<run id>:model:<n>`, or `<run or session id>:compaction:<id>
 * :model:<n>` where the run is at times one that nobody was told of; ids may hold colons themselves. The type
 * of a run that nothing was told of is left to the server, and so is a session that cannot be told. In a person's
 * run, what OpenClaw asks by itself is side.
 *
 * OpenClaw 2026.6 gives no ids of requests: there a request is of its session's latest run, and one that has no
 * session either is a compaction.
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
