import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServingConfig } from '../../../shared/config/serving.ts';
import { ServingError } from '../errors.ts';
import type { PolicyTarget } from '../generation.ts';
import { type CanaryChoice, conversationName } from '../heads/serve-canary.ts';
import { callerOf } from '../http/caller.ts';
import { abortOnDisconnect } from '../http/disconnect.ts';
import { type AnswerCount, admitAnswer, admitOther } from '../http/key-limits.ts';
import type { KeyQuota } from '../http/key-quota.ts';
import type { PerKeyLimit } from '../http/per-key-limit.ts';
import { laneOf } from '../sessions/lane.ts';
import type { Session } from '../sessions/session-row.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { type AcceptedRequest, isEnding } from './answer.ts';
import type { AnswerForm } from './answer-form.ts';
import type { AnswerIds } from './answer-ids.ts';
import type { ChatRequest } from './chat-request.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { digestOfRequest, idempotencyKeyOf, isWholeAnswer, replayAnswer } from './idempotency.ts';
import type { RecordedAnswers } from './recorded-answers.ts';
import { type ModelDeps, type ResolvedModel, resolveModel, targetOf } from './resolve-model.ts';
import { type Keep, type SendDeps, sendAnswer } from './send-answer.ts';

/** What answering a request needs from the process. */
export type AnswerDeps = ModelDeps &
  SendDeps & {
    readonly answers: Pick<RecordedAnswers, 'claim'>;
    readonly conversations: { readonly isDeleted: (id: string) => Promise<boolean> };
    readonly sessions: Pick<Sessions, 'current' | 'rewardedSession'>;
    /** Aborts with the reason `serverEnds` when open answers must be cut short. */
    readonly ending: AbortSignal;
    readonly limit: PerKeyLimit;
    readonly quota: KeyQuota;
    readonly ids: AnswerIds;
    /** The canary of an adapter; undefined for an engine that serves the base only. */
    readonly canaryOf: (adapter: string) => CanaryChoice | undefined;
    /** Separates a key's part of the engine's prompt cache; undefined: the cache is shared. */
    readonly cacheSaltOf: (keyId: string) => string | undefined;
  };

/** A request of Fastify's, and the reply to it. */
type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply };

/**
 * Answers a request in the form of its API. A request that repeats an earlier `Idempotency-Key` gets the answer
 * of the earlier request.
 */
export async function answerRequest(
  deps: AnswerDeps,
  { request, reply }: Exchange,
  chat: ChatRequest,
  form: AnswerForm,
): Promise<unknown> {
  const caller = callerOf(request);
  const { keyId, sessionKey } = caller;
  const session = sessionKey === undefined ? undefined : await deps.sessions.current(sessionKey);
  const model = resolveModel(deps, caller, session, chat.model);
  const task: AnswerTask = { request, reply, chat, session, model, form };
  const idempotencyKey = idempotencyKeyOf(request.headers);
  if (idempotencyKey === undefined) return generateAnswer(deps, task, undefined);
  admitOther(deps.quota, caller); // a replayed answer does not count as an answer
  const digest = digestOfRequest(form.api, request.body);
  const signal = abortOnDisconnect(reply.raw, deps.ending);
  const repeatable = { keyId, session: session?.session, idempotencyKey, digest };
  const claim = await deps.answers.claim(repeatable, signal).catch((error) => {
    if (!signal.aborted) throw error;
    throw isEnding(signal) ? ServingError.STOPPING({ retryAfterSeconds: 1 }) : ServingError.CLIENT_LEFT();
  });
  if (claim.kind === 'recorded') {
    const { id, created } = claim.answer;
    if (await deps.conversations.isDeleted(id))
      throw ServingError.ANSWER_DELETED({ id, param: 'idempotency-key' });
    const accepted = { ...acceptRequest(deps, task), id, created, target: noTarget };
    return replayAnswer(accepted, form, claim.answer, reply);
  }
  const keep: Keep = async ({ id, created }, finished) => {
    if (!isWholeAnswer(finished)) return;
    await claim
      .keep({ id, created, finished })
      .catch((error) =>
        deps.logger.warn(
          { err: error, id },
          'could not store the answer: a request repeated with its Idempotency-Key gets another answer',
        ),
      );
  };
  return generateAnswer(deps, task, keep).finally(claim.leave);
}

/** A replayed answer needs no engine. */
const noTarget: PolicyTarget = { kind: 'live', adapter: '' };

type AnswerTask = Exchange & {
  readonly chat: ChatRequest;
  /** The session of the session key that sent the request, if any. */
  readonly session: Session | undefined;
  readonly model: ResolvedModel;
  readonly form: AnswerForm;
};

async function generateAnswer(deps: AnswerDeps, task: AnswerTask, keep: Keep | undefined): Promise<unknown> {
  const { request, reply, chat, form, model } = task;
  const caller = callerOf(request);
  const { choices } = chat.generation;
  refuseTooMany(deps.config, choices);
  const leave = deps.limit.enter(caller.keyId, choices);
  if (leave === undefined) {
    throw ServingError.TOO_MANY_REQUESTS({ limit: deps.config.maxConcurrentPerKey, retryAfterSeconds: 1 });
  }
  deps.metrics.open.inc();
  let count: AnswerCount | undefined;
  try {
    count = admitAnswer(deps.quota, caller, chat.generation);
    const live = await targetOf(deps, model);
    const received = acceptRequest(deps, task);
    const accepted = { ...received, target: withCanary(deps, live, received), count };
    for (const kind of new Set(accepted.chat.ignored.map((omission) => omission.kind)))
      deps.metrics.ignored.inc({ kind });
    const signal = abortOnDisconnect(reply.raw, deps.ending);
    return await sendAnswer(deps, { accepted, form, reply, signal, keep });
  } finally {
    count?.took(0); // no effect if the answer was counted
    deps.metrics.open.dec();
    leave();
  }
}

/** A rewarded session stays on the head: its turns have no verdict that could decide about a canary. */
function withCanary(
  { canaryOf }: Pick<AnswerDeps, 'canaryOf'>,
  target: PolicyTarget,
  { lane, envelope, chat, rewarded }: Omit<AcceptedRequest, 'target'>,
): PolicyTarget {
  if (target.kind !== 'live' || rewarded !== undefined) return target;
  const alias = canaryOf(target.adapter)?.aliasFor(
    conversationName(lane, envelope.session, chat.generation.messages),
  );
  return alias === undefined ? target : { ...target, canary: alias };
}

/** More choices than a limit can ever admit are a client error; a full limit is one to retry. */
function refuseTooMany(config: ServingConfig, choices: number): void {
  const { maxChoices, maxConcurrentPerKey, maxWaiting, engine } = config;
  const limits: readonly (readonly [flag: string, most: number])[] = [
    ['--max-choices', maxChoices],
    ['--max-concurrent-per-key', maxConcurrentPerKey],
    ...(engine === 'local' ? [['--max-waiting', maxWaiting] as const] : []),
  ];
  const exceeded = limits.find(([, most]) => choices > most);
  if (exceeded === undefined) return;
  const detail = `Invalid 'n': ${choices} answers requested; this server allows at most ${exceeded[1]} (${exceeded[0]}).`;
  throw ServingError.INVALID_REQUEST({ param: 'n', detail });
}

/**
 * Everything about a request except its target. A session key alone determines the session; other session
 * names and hints are ignored.
 * @throws ServingError INVALID_REQUEST
 */
function acceptRequest(
  { sessions, ids, cacheSaltOf }: AnswerDeps,
  { request, chat, session, model: { adapter, isDefault }, form: { api } }: AnswerTask,
): Omit<AcceptedRequest, 'target'> {
  const { keyId } = callerOf(request);
  const received = readEnvelope(request.headers, chat.session);
  const envelope = session === undefined ? received : withSession(session, received);
  if (envelope.sessionDone && envelope.session === undefined) {
    throw ServingError.INVALID_REQUEST({
      param: 'x-session-done',
      detail: 'x-session-done requires a session.',
    });
  }
  const lane = laneOf(keyId, envelope.session, isDefault ? undefined : adapter);
  return {
    id: ids.make(keyId, lane, api, chat.generation.choices),
    created: Math.floor(Date.now() / 1000),
    api,
    requestId: envelope.requestId ?? request.id,
    lane,
    keyId,
    cacheSalt: cacheSaltOf(keyId),
    adapter,
    envelope,
    ...(session === undefined
      ? { chat }
      : { chat: { ...chat, user: undefined }, rewarded: sessions.rewardedSession(session) }),
  };
}

/** A client that marks one of its own sessions as done does not mean the key's session. */
const withSession = ({ session }: Session, received: Envelope): Envelope => ({
  ...received,
  session,
  sessionDone: received.sessionDone && (received.session ?? session) === session,
});
