import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../access.ts';
import { adaptersOf } from '../chat/adapters-of.ts';
import { ServingError } from '../errors.ts';
import type { BodyConfig } from '../http/request-bodies.ts';
import type { SessionKey } from '../rl/session-key.ts';
import type { Session } from '../rl/session-table.ts';
import { callerOf } from '../server.ts';
import { type AskedModel, askedModel } from './asked-model.ts';
import { readBody } from './read-body.ts';
import type { ServingWorld } from './world.ts';

const taskId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'no control characters and no half of a surrogate pair');
/** Where a session is refreshed, the one before it tells the task and the adapter unless told. */
const StartBody = z
  .object({ task_id: taskId.nullish(), api_key: z.string().nullish(), model: z.string().nullish() })
  .refine(({ task_id, api_key }) => task_id || api_key, { path: ['task_id'], error: 'expected string' });
/** Advantages add up along the conversation tree; beyond this their sum could be no number. */
const LARGEST_ADVANTAGE = 1e6;
/** A reward is on the scale of verdicts, as in /v1/feedback. */
const RewardBody = z.object({
  reward: z.number().min(-1).max(1),
  interaction_id: z.string().nullish(),
  advantage: z.number().min(-LARGEST_ADVANTAGE).max(LARGEST_ADVANTAGE).nullish(),
});
/**
 * `discard`: takes the session back, so that no turn of it trains. `session_id`: for an access key, which
 * session.
 */
const EndBody = z.object({ discard: z.boolean().nullish(), session_id: z.string().min(1).nullish() });

/** The session protocol of AReaL's online mode: an access key opens sessions, each has a key of its own. */
export function registerRl(server: FastifyInstance, world: ServingWorld): void {
  server.get('/health', async () => ({ status: 'ok' }));
  const config: BodyConfig = { mayBeEmpty: true, explainInvalid: notFinite };
  registerProtocol(server, world, { config });
}

/** Python writes NaN and infinity, which JSON lacks: the answer names the field. */
function notFinite(beginning: string): Error | undefined {
  const param = /"(reward|advantage)"\s{0,20}:\s{0,20}[-+]?(?:NaN|Infinity)\b/.exec(beginning)?.[1];
  if (param === undefined) return undefined;
  return ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': not a finite number.` });
}

function registerProtocol(
  server: FastifyInstance,
  world: ServingWorld,
  bodies: { readonly config: BodyConfig },
): void {
  const { access, config, sessions } = world;
  server.post('/rl/start_session', bodies, async (request) => {
    const caller = accessCallerOf(request);
    const { task_id: task, api_key: asked, model } = readBody(StartBody, request.body);
    const refreshed = asked ? sessionKeyOf(access.readSessionKey(asked), caller) : undefined;
    const { session, key } = await sessions.start(
      {
        keyId: caller.keyId,
        adapter: model ? liveAdapter(askedModel(world, caller, undefined, model)) : undefined,
        adapters: adaptersOf(caller, undefined, config.adapters),
      },
      task ?? undefined,
      refreshed,
    );
    return { session_id: session, api_key: access.writeSessionKey(key) };
  });

  server.post('/rl/set_reward', bodies, async (request) => {
    const sessionKey = sessionCallerOf(request);
    const { reward: score, interaction_id: asked, advantage } = readBody(RewardBody, request.body);
    const reward = { score, interactionId: asked ?? undefined, advantage: advantage ?? undefined };
    const { session, interactionId } = await sessions.reward(sessionKey, reward);
    return { message: 'success', session_id: session, interaction_id: interactionId };
  });

  server.post('/rl/end_session', bodies, async (request) => {
    const { discard, session_id: named } = readBody(EndBody, request.body ?? {});
    const ended = named
      ? await sessions.endNamed(accessCallerOf(request).keyId, named, discard ?? false)
      : await sessions.end(sessionCallerOf(request), discard ?? false);
    return { message: 'success', session_id: ended.session, interaction_count: ended.interactions };
  });

  server.get('/rl/sessions', async (request) => ({
    object: 'list',
    data: (await sessions.list(accessCallerOf(request).keyId)).map(shown),
  }));
}

/** @throws ServingError INVALID_REQUEST for a version: it would learn nothing from its session */
function liveAdapter({ kind, adapter }: AskedModel): string {
  if (kind === 'live') return adapter;
  const detail = "Invalid 'model': a session is of a live policy, not of a version.";
  throw ServingError.INVALID_REQUEST({ param: 'model', detail });
}

function accessCallerOf(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (caller.sessionKey !== undefined) throw ServingError.NOT_FOR_SESSION_KEYS();
  return caller;
}

function sessionCallerOf(request: FastifyRequest): string {
  const { sessionKey } = callerOf(request);
  if (sessionKey === undefined) throw ServingError.INVALID_SESSION_KEY();
  return sessionKey;
}

/** Nothing is seen across access keys. */
function sessionKeyOf(key: SessionKey | undefined, { keyId }: Caller): SessionKey {
  if (key?.keyId !== keyId) throw ServingError.UNKNOWN_SESSION_KEY({ param: 'api_key' });
  return key;
}

const shown = ({ session, task, startedAt, ended, interactions, rewards }: Session) => ({
  session_id: session,
  task_id: task ?? null,
  state: ended === undefined ? 'open' : 'ended',
  started_at: startedAt,
  ended_at: ended?.at ?? null,
  end_reason: ended?.reason ?? null,
  interaction_count: interactions,
  rewards: [...rewards].map(([interaction_id, reward]) => ({ interaction_id, reward })),
});
