import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { defined } from '../../../shared/lang/defined.ts';
import { adaptersOf, type ResolvedModel, resolveModel } from '../answer/resolve-model.ts';
import { ServingError } from '../errors.ts';
import type { Caller } from '../http/access.ts';
import { accessCallerOf, callerOf } from '../http/caller.ts';
import { readBody } from '../http/read-body.ts';
import type { BodyConfig } from '../http/request-bodies.ts';
import type { SessionKey } from '../http/session-key.ts';
import type { Session } from '../sessions/session-row.ts';
import type { ApiDeps } from './api-deps.ts';

const taskId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'expected no control characters and no lone surrogates');
const processTermsBody = z.object({ votes: z.int().min(1).max(15), weight: z.number().min(-10).max(10) });
/** Task and adapter default to those of the previous session of the key, if `api_key` names one. */
const StartBody = z
  .object({
    task_id: taskId.nullish(),
    api_key: z.string().nullish(),
    model: z.string().nullish(),
    process: processTermsBody.nullish(),
    weigh: z.enum(['attempt']).nullish(),
  })
  .refine(({ task_id, api_key }) => task_id || api_key, { path: ['task_id'], error: 'expected string' });
/** Advantages are summed along the conversation tree; beyond this limit the sum could overflow. */
const LARGEST_ADVANTAGE = 1e6;
/** Below it, a vote could outweigh everything else. */
const SMALLEST_SCALE = 1e-6;
const MOST_STEPS = 10_000;
/** A reward is on the scale of verdicts, as in /v1/feedback. */
const advantageBody = z.number().min(-LARGEST_ADVANTAGE).max(LARGEST_ADVANTAGE).nullish();
const RewardBody = z.object({
  reward: z.number().min(-1).max(1),
  interaction_id: z.string().nullish(),
  advantage: advantageBody,
  steps: z
    .array(
      z.object({
        interaction_id: z.string(),
        advantage: advantageBody,
        process: z
          .object({
            baseline: z.number().min(-1).max(1),
            scale: z.number().min(SMALLEST_SCALE).max(LARGEST_ADVANTAGE).default(1),
          })
          .nullish(),
      }),
    )
    .max(MOST_STEPS)
    .nullish(),
});
/**
 * `discard`: withdraws the session, so that none of its turns train. `session_id`: the session, if the caller has an
 * access key.
 */
const EndBody = z.object({ discard: z.boolean().nullish(), session_id: z.string().min(1).nullish() });

/** The session protocol of AReaL's online mode: an access key opens sessions, and each session has its own key. */
export function registerRewardSessions(server: FastifyInstance, deps: ApiDeps): void {
  server.get('/health', async () => ({ status: 'ok' }));
  const config: BodyConfig = { mayBeEmpty: true, explainInvalid: notFinite };
  registerProtocol(server, deps, { config });
}

/** Python writes NaN and infinity, which are invalid JSON; the error names the field. */
function notFinite(beginning: string): Error | undefined {
  const param = /"(reward|advantage)"\s{0,20}:\s{0,20}[-+]?(?:NaN|Infinity)\b/.exec(beginning)?.[1];
  if (param === undefined) return undefined;
  return ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': not a finite number.` });
}

function registerProtocol(
  server: FastifyInstance,
  deps: ApiDeps,
  bodies: { readonly config: BodyConfig },
): void {
  const { access, config, sessions } = deps;
  server.post('/rl/start_session', bodies, async (request) => {
    const caller = accessCallerOf(request);
    const { task_id: task, api_key: oldKey, model, process, weigh } = readBody(StartBody, request.body);
    const refreshed = oldKey ? sessionKeyOf(access.readSessionKey(oldKey), caller) : undefined;
    const { session, key } = await sessions.start(
      {
        keyId: caller.keyId,
        adapter: model ? liveAdapter(resolveModel(deps, caller, undefined, model)) : undefined,
        adapters: adaptersOf(caller, undefined, config.adapters),
      },
      task ?? undefined,
      refreshed,
      defined({ process: process ?? undefined, weigh: weigh ?? undefined }),
    );
    return { session_id: session, api_key: access.writeSessionKey(key) };
  });

  server.post('/rl/set_reward', bodies, async (request) => {
    const sessionKey = sessionCallerOf(request);
    const { reward: score, interaction_id: interaction, ...body } = readBody(RewardBody, request.body);
    const reward = {
      score,
      interactionId: interaction ?? undefined,
      advantage: body.advantage ?? undefined,
      steps: body.steps?.map(({ interaction_id: interactionId, advantage, process }) => ({
        interactionId,
        ...defined({ advantage: advantage ?? undefined, process: process ?? undefined }),
      })),
    };
    const { session, interactionId } = await sessions.reward(sessionKey, reward);
    return { message: 'success', session_id: session, interaction_id: interactionId };
  });

  server.post('/rl/end_session', bodies, async (request) => {
    const { discard, session_id: named } = readBody(EndBody, request.body ?? {});
    const ended = named
      ? await sessions.endNamed(accessCallerOf(request).keyId, named, discard ?? false)
      : await sessions.end(sessionCallerOf(request), discard ?? false);
    return {
      message: 'success',
      session_id: ended.session,
      interaction_count: ended.interactions,
      ...(ended.guarded.count > 0 ? { guarded_choices: ended.guarded } : {}),
    };
  });

  server.get('/rl/steps', async (request) => {
    const { session, steps } = await sessions.steps(sessionCallerOf(request));
    return {
      session_id: session.session,
      process: session.process ?? null,
      steps: steps.map(({ id, continues, observed, votes, score }) => ({
        interaction_id: id,
        continues,
        observed,
        reward: session.rewards.get(id) ?? null,
        votes,
        score,
      })),
    };
  });

  server.get('/rl/sessions', async (request) => ({
    object: 'list',
    data: (await sessions.list(accessCallerOf(request).keyId)).map(listedSession),
  }));
}

/** @throws ServingError INVALID_REQUEST for a fixed version, which cannot learn from the session */
function liveAdapter({ kind, adapter }: ResolvedModel): string {
  if (kind === 'live') return adapter;
  const detail = "Invalid 'model': a session requires a live policy, not a fixed version.";
  throw ServingError.INVALID_REQUEST({ param: 'model', detail });
}

function sessionCallerOf(request: FastifyRequest): string {
  const { sessionKey } = callerOf(request);
  if (sessionKey === undefined) throw ServingError.INVALID_SESSION_KEY();
  return sessionKey;
}

/** Session keys of other access keys count as unknown. */
function sessionKeyOf(key: SessionKey | undefined, { keyId }: Caller): SessionKey {
  if (key?.keyId !== keyId) throw ServingError.UNKNOWN_SESSION_KEY({ param: 'api_key' });
  return key;
}

const listedSession = ({ session, task, startedAt, ended, interactions, rewards }: Session) => ({
  session_id: session,
  task_id: task ?? null,
  state: ended === undefined ? 'open' : 'ended',
  started_at: startedAt,
  ended_at: ended?.at ?? null,
  end_reason: ended?.reason ?? null,
  interaction_count: interactions,
  rewards: [...rewards].map(([interaction_id, reward]) => ({ interaction_id, reward })),
});
