// @ts-check

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

/** How prompts begin that OpenClaw writes by itself in a person's run. */
const ownPrompts = [
  'The previous assistant turn recorded reasoning but did not',
  'The previous assistant turn completed its tool calls but did not',
  'The previous attempt did not produce a user-visible answer',
  'The previous attempt compacted the conversation context',
  'Before accepting the previous final answer, apply this revision request',
  'A new session was started via /new or /reset',
  'Reply with OK. Do not use tools.',
  'Reply with the single word OK. Do not use tools.',
];

/**
 * Whether the model requests of a run are a person's conversation with the agent. The triggers of a subagent
 * and of the news of its result are `user` too: the session key and the run's id tell those.
 *
 * @param {Run} run
 * @param {string} prompt
 * @returns {TurnType}
 */
export function turnTypeOfRun({ runId = '', sessionKey = '', trigger, inputProvenance }, prompt) {
  const isBeside = besideConversation.some((part) => sessionKey.includes(part));
  const isAnnounced = runId.startsWith('announce:') || isFromElsewhere(inputProvenance?.kind);
  const isOwnPrompt = ownPrompts.some((beginning) => prompt.trimStart().startsWith(beginning));
  return trigger === 'user' && !isBeside && !isAnnounced && !isOwnPrompt ? 'main' : 'side';
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
 * of a run that nothing was told of is left to the server, and so is a session that cannot be told.
 *
 * @param {{ readonly sessionId?: string, readonly requestId?: string }} request
 * @param {Known} known
 * @returns {Description}
 */
export function describeRequest({ sessionId, requestId = '' }, { run, isSession, compacting }) {
  const compaction = /^(.+):compaction:/.exec(requestId)?.[1];
  if (compaction !== undefined) {
    const under = compacting();
    const only = under.length === 1 ? under[0] : undefined;
    const session = isSession(compaction) || under.includes(compaction) ? compaction : only;
    return { session: sessionId ?? run(compaction)?.session ?? session, turnType: 'side' };
  }
  const runId = /^(.+):model:\d+$/.exec(requestId)?.[1];
  return { session: sessionId, turnType: runId === undefined ? undefined : run(runId)?.turnType };
}
