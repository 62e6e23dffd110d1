// @ts-check
import { isOver, patienceMs, reportEnd, withPatience } from './session-done.js';
import { describeRequest, turnTypeOfRun } from './turn-type.js';

/**
 * The part of OpenClaw's plugin interface (2026.6 and later) that this plugin uses.
 *
 * @typedef {import('./session-done.js').Server} Server
 * @typedef {import('./turn-type.js').TurnType} TurnType
 * @typedef {import('./own-prompts.js').Context} Context
 * @typedef {import('./turn-type.js').Run & { readonly sessionId?: string }} HookContext
 * @typedef {{ provider: string, baseUrl?: string, headers?: Record<string, string> }} Model
 * @typedef {{ sessionId?: string, requestId?: string, headers?: Record<string, string> }} StreamOptions
 * @typedef {(model: Model, context: Context, options?: StreamOptions) => unknown} StreamFn
 * @typedef {object} Runtime
 * @property {{ current(): unknown }} [config]
 * @property {{ resolveApiKeyForProvider(of: { provider: string, cfg: unknown }): Promise<{ apiKey?: string }> }} [modelAuth]
 *
 * @typedef {object} Api
 * @property {{ readonly providers?: readonly string[] }} [pluginConfig]
 * @property {{ warn(message: string): void }} logger
 * @property {unknown} config as of the registration of the plugin
 * @property {Runtime} [runtime]
 * @property {(name: string, handler: (event: any, context: HookContext) => unknown) => void} on
 * @property {(provider: object) => void} registerProvider
 */

const DEFAULT_PROVIDERS = ['clawloop'];
/** number of remembered runs and sessions; far more than are ever active at once */
const REMEMBERED = 4_096;
/** longest duration of a compaction, ms; a failed one is not reported */
const COMPACTION_MS = 600_000;

/**
 * @typedef {object} Seen
 * @property {Map<string, import('./turn-type.js').KnownRun>} runs
 * @property {Map<string, import('./turn-type.js').KnownRun>} latest by session
 * @property {Map<string, { server: Server, provider: string }>} sessions
 * @property {Map<string, Promise<void>>} ending by session, until the server is notified
 * @property {Map<string, number>} compacting by session: start, ms since 1970
 * @property {boolean} hasWarned
 */
const SEEN = Symbol.for('clawloop.rl-training-headers.1');
const holder = /** @type {{ [SEEN]?: Seen }} */ (globalThis);
/** Shared state of this process: OpenClaw loads a plugin module more than once. */
holder[SEEN] ??= {
  runs: new Map(),
  latest: new Map(),
  sessions: new Map(),
  ending: new Map(),
  compacting: new Map(),
  hasWarned: false,
};
const seen = holder[SEEN];

/** @type {import('./turn-type.js').Known} */
const known = {
  run: (runId) => seen.runs.get(runId),
  latestRun: (session) => seen.latest.get(session),
  isSession: (session) => seen.sessions.has(session),
  compacting: () =>
    [...seen.compacting].flatMap(([session, since]) => (Date.now() - since < COMPACTION_MS ? [session] : [])),
};

/**
 * Adds an entry; the oldest entries are dropped first.
 *
 * @template Value
 * @param {Map<string, Value>} map
 * @param {string} key
 * @param {Value} value
 */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= REMEMBERED) return;
    map.delete(oldest);
  }
}

/** Whether a text can be sent in a header. */
const isHeaderText = (/** @type {string} */ text) => /^[\x21-\x7e]{1,500}$/.test(text);

/** @param {Api} api */
function register(api) {
  const providers = api.pluginConfig?.providers ?? DEFAULT_PROVIDERS;

  api.on('before_prompt_build', (_, context) => {
    const { runId, sessionId: session } = context;
    if (session !== undefined) seen.compacting.delete(session);
    const run = { session, turnType: turnTypeOfRun(context) };
    if (runId !== undefined) remember(seen.runs, runId, run);
    if (session !== undefined) remember(seen.latest, session, run);
  });

  api.on('before_compaction', (_, { sessionId }) => {
    if (sessionId !== undefined) remember(seen.compacting, sessionId, Date.now());
  });

  api.on('after_compaction', (_, { sessionId }) => {
    if (sessionId !== undefined) seen.compacting.delete(sessionId);
  });

  api.on('session_end', async ({ sessionId, reason }) => {
    const place = seen.sessions.get(sessionId);
    if (place === undefined || !isOver(reason)) return;
    seen.sessions.delete(sessionId);
    const limitMs = patienceMs(reason);
    const ending = withPatience(end(sessionId, place, limitMs), limitMs, () =>
      warnUnreported(sessionId, 'timed out'),
    );
    seen.ending.set(sessionId, ending);
    await ending;
    if (seen.ending.get(sessionId) === ending) seen.ending.delete(sessionId);
  });

  /**
   * @param {string} session
   * @param {{ server: Server, provider: string }} place
   * @param {number} limitMs
   */
  async function end(session, { server, provider }, limitMs) {
    const { config, modelAuth } = api.runtime ?? {};
    const cfg = config?.current() ?? api.config;
    const auth = await modelAuth?.resolveApiKeyForProvider({ provider, cfg }).catch(() => undefined);
    const failure = await reportEnd(server, { session, apiKey: auth?.apiKey, limitMs });
    if (failure !== undefined) warnUnreported(session, failure);
  }

  /**
   * @param {string} session
   * @param {string} failure
   */
  function warnUnreported(session, failure) {
    api.logger.warn(`could not report the end of session ${session}: ${failure}`);
  }

  /** @type {(of: { streamFn?: StreamFn }) => StreamFn | undefined} */
  const wrapStreamFn = ({ streamFn }) =>
    streamFn &&
    (async (model, context, options = {}) => {
      const { session, turnType } = describeRequest(options, context, known);
      if (turnType === undefined) warnOnce();
      const named = session !== undefined && isHeaderText(session) ? session : undefined;
      if (named !== undefined) {
        await seen.ending.get(named); // the id may be used again after the session ends
        if (model.baseUrl !== undefined) {
          const server = { baseUrl: model.baseUrl, headers: model.headers ?? {} };
          remember(seen.sessions, named, { server, provider: model.provider });
        }
      }
      return streamFn(model, context, withHeaders(options, named, turnType));
    });

  /** @type {(of: { streamFn?: StreamFn }) => StreamFn | undefined} */
  const wrapSimpleCompletionStreamFn = ({ streamFn }) =>
    streamFn &&
    ((model, context, options = {}) => streamFn(model, context, withHeaders(options, undefined, 'side')));

  function warnOnce() {
    if (seen.hasWarned) return;
    seen.hasWarned = true;
    api.logger.warn(
      'no access to runs, so X-Turn-Type is not sent: set plugins.entries.rl-training-headers.hooks.allowConversationAccess to true',
    );
  }

  for (const id of providers)
    api.registerProvider({ id, label: id, auth: [], wrapStreamFn, wrapSimpleCompletionStreamFn });
}

/**
 * @param {StreamOptions} options
 * @param {string | undefined} session
 * @param {TurnType | undefined} turnType
 * @returns {StreamOptions}
 */
const withHeaders = (options, session, turnType) => ({
  ...options,
  headers: {
    ...options.headers,
    ...(session === undefined ? {} : { 'X-Session-Id': session }),
    ...(turnType === undefined ? {} : { 'X-Turn-Type': turnType }),
  },
});

// biome-ignore lint/style/noDefaultExport: OpenClaw reads a plugin from its module's default export
export default {
  id: 'rl-training-headers',
  name: 'RL training headers',
  description:
    'Sends X-Session-Id and X-Turn-Type with every model request, and reports when a session ends.',
  register,
};
