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

/**
 * What was told before a request: runs by their id, and the sessions whose history is being summarised.
 *
 * @typedef {object} Known
 * @property {(runId: string) => { readonly session: string | undefined, readonly turnType: TurnType } | undefined} run
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
 * @param {{ readonly sessionId?: string, readonly requestId?: string }} request
 * @param {import('./own-prompts.js').Context} context
 * @param {Known} known
 * @returns {Description}
 */
export function describeRequest({ sessionId, requestId = '' }, context, { run, isSession, compacting }) {
  const compaction = /^(.+):compaction:/.exec(requestId)?.[1];
  if (compaction !== undefined) {
    const under = compacting();
    const only = under.length === 1 ? under[0] : undefined;
    const session = isSession(compaction) || under.includes(compaction) ? compaction : only;
    return { session: sessionId ?? run(compaction)?.session ?? session, turnType: 'side' };
  }
  const runId = /^(.+):model:\d+$/.exec(requestId)?.[1];
  const turnType = runId === undefined ? undefined : run(runId)?.turnType;
  return { session: sessionId, turnType: turnType === 'main' && isOwnPrompt(context) ? 'side' : turnType };
}
