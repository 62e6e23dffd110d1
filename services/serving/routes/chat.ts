import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../../../shared/service/errors.ts';
import {
  type AnswerListener,
  type AnswerWorld,
  type AskedChat,
  answerChat,
  isEnding,
} from '../chat/answer.ts';
import { type ChatRequest, parseChatRequest } from '../chat/chat-request.ts';
import { type CompletionHead, completionBody, completionChunks, type Finished } from '../chat/completion.ts';
import { type Envelope, readEnvelope } from '../chat/envelope.ts';
import { laneOf } from '../chat/lane.ts';
import { createOmissions } from '../chat/omissions.ts';
import type { ServingConfig } from '../config.ts';
import type { PolicyTarget } from '../engine/engine.ts';
import { asServingError, errorBody } from '../error-body.ts';
import { ServingError } from '../errors.ts';
import { mostBodyBytes } from '../http/request-bodies.ts';
import type { Session } from '../rl/session-table.ts';
import { callerOf } from '../server.ts';
import type { AnswerForm } from './answer-form.ts';
import { type AskedModel, askedModel, targetOf } from './asked-model.ts';
import { abortOnDisconnect } from './disconnect.ts';
import { type Frame, openEventStream } from './event-stream.ts';
import { digestOfRequest, idempotencyKeyOf, isWholeAnswer, tellAgain } from './idempotency.ts';
import { type AnswerCount, admitAnswer, admitOther } from './key-limits.ts';
import type { ServingWorld } from './world.ts';

/** OpenAI's chat completions, as JSON or as a stream. */
export function registerChat(server: FastifyInstance, world: ServingWorld): void {
  const handler = (request: FastifyRequest, reply: FastifyReply) => chat(world, request, reply);
  server.post('/v1/chat/completions', handler);
  server.post('/chat/completions', handler);
}

const chat = async (world: ServingWorld, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
  const omissions = createOmissions(world.config);
  return answerRequest(world, request, reply, parseChatRequest(request.body, { omissions }), chatForm);
};

const frameOf = (data: object): Frame => ({ data });

const chatForm: AnswerForm = {
  api: 'chat',
  show: ({ id, created, chat: { model, includeUsage, generation, ignored, oldCalls } }) => {
    const head: CompletionHead = { id, model, created };
    const { choices } = generation;
    const chunks = completionChunks(head, { choices, includeUsage, ignored, oldCalls });
    const logProbs = generation.topLogProbs !== undefined;
    return {
      body: (finished) => completionBody(head, finished, { ignored, oldCalls }),
      first: () => chunks.first().map(frameOf),
      next: (chunk, choice) => [frameOf(chunks.next(chunk, choice, logProbs))],
      last: (finished) =>
        [...chunks.last(finished), ...(includeUsage ? [chunks.usage(finished)] : [])].map(frameOf),
    };
  },
  failure: (error) => frameOf(errorBody(error)),
  endMark: '[DONE]',
};

/**
 * Answers what an API asks for as a chat, in that API's form. A request that came before under the same
 * `Idempotency-Key` gets the answer that was given then.
 */
export async function answerRequest(
  world: ServingWorld,
  request: FastifyRequest,
  reply: FastifyReply,
  chatRequest: ChatRequest,
  form: AnswerForm,
): Promise<unknown> {
  const caller = callerOf(request);
  const { keyId, sessionKey } = caller;
  const session = sessionKey === undefined ? undefined : await world.sessions.speaking(sessionKey);
  const model = askedModel(world, caller, session, chatRequest.model);
  const toAnswer = { chat: chatRequest, session, model };
  const ask = (keep: Keep | undefined) => answerAnew(world, request, reply, { ...toAnswer, keep }, form);
  const idempotencyKey = idempotencyKeyOf(request.headers);
  if (idempotencyKey === undefined) return ask(undefined);
  admitOther(world.quota, caller); // an answer that is told again counts as no answer
  const digest = digestOfRequest(form.api, request.body);
  const signal = abortOnDisconnect(reply.raw, world.ending);
  const asked = { keyId, session: session?.session, idempotencyKey, digest };
  const claim = await world.answers.claim(asked, signal).catch((error) => {
    if (!signal.aborted) throw error;
    throw isEnding(signal) ? ServingError.STOPPING({ retryAfterSeconds: 1 }) : ServingError.CLIENT_LEFT();
  });
  if (claim.kind === 'recorded') {
    const { id, created } = claim.answer;
    if (await world.conversations.isDeleted(id))
      throw ServingError.ANSWER_DELETED({ id, param: 'idempotency-key' });
    const asked = {
      ...readAsked(world, request, toAnswer, form.api),
      id,
      created,
      target: nobody,
    };
    return tellAgain(asked, form, claim.answer, reply);
  }
  const keep: Keep = async ({ id, created }, finished) => {
    if (!isWholeAnswer(finished)) return;
    await claim
      .keep({ id, created, finished })
      .catch((error) => world.logger.warn({ err: error, id }, 'this answer cannot be asked for again'));
  };
  return ask(keep).finally(claim.leave);
}

/** No engine is asked. */
const nobody: PolicyTarget = { kind: 'live', adapter: '' };

/** Makes an answer one that can be asked for again, before its end goes out. */
type Keep = (asked: AskedChat, finished: Finished) => Promise<void>;

type ToAnswer = {
  readonly chat: ChatRequest;
  /** The session protocol's, where its key asks. */
  readonly session: Session | undefined;
  readonly model: AskedModel;
};

async function answerAnew(
  world: ServingWorld,
  request: FastifyRequest,
  reply: FastifyReply,
  { keep, ...toAnswer }: ToAnswer & { readonly keep: Keep | undefined },
  form: AnswerForm,
): Promise<unknown> {
  const caller = callerOf(request);
  const { keyId } = caller;
  const { maxConcurrentPerKey } = world.config;
  const { choices } = toAnswer.chat.generation;
  refuseTooMany(world.config, choices);
  const leave = world.limit.enter(keyId, choices);
  if (leave === undefined) {
    throw ServingError.TOO_MANY_REQUESTS({ limit: maxConcurrentPerKey, retryAfterSeconds: 1 });
  }
  world.metrics.open.inc();
  let count: AnswerCount | undefined;
  try {
    count = admitAnswer(world.quota, caller, toAnswer.chat.generation);
    const target = await targetOf(world, toAnswer.model);
    const asked = { ...readAsked(world, request, toAnswer, form.api), target, count };
    for (const kind of new Set(asked.chat.ignored.map((one) => one.kind)))
      world.metrics.ignored.inc({ kind });
    const signal = abortOnDisconnect(reply.raw, world.ending);
    return await (asked.chat.stream ? stream : json)(world, asked, form, reply, signal, keep);
  } finally {
    count?.took(0); // where it came to no answer
    world.metrics.open.dec();
    leave();
  }
}

/** What can never be admitted is the client's to mend; what cannot be just now is told to come again. */
function refuseTooMany(config: ServingConfig, choices: number): void {
  const { maxChoices, maxConcurrentPerKey, maxWaiting, engine } = config;
  const limits: readonly (readonly [flag: string, most: number])[] = [
    ['--max-choices', maxChoices],
    ['--max-concurrent-per-key', maxConcurrentPerKey],
    ...(engine === 'local' ? [['--max-waiting', maxWaiting] as const] : []),
  ];
  const passed = limits.find(([, most]) => choices > most);
  if (passed === undefined) return;
  const detail = `Invalid 'n': ${choices} answers; this server gives ${passed[1]} at most (${passed[0]}).`;
  throw ServingError.INVALID_REQUEST({ param: 'n', detail });
}

/**
 * What a request asks for, but of whom. A session key alone decides which session it is: what else names one,
 * or hints at one, counts for nothing then.
 * @throws ServingError INVALID_REQUEST
 */
function readAsked(
  { sessions, ids, cacheSaltOf }: ServingWorld,
  request: FastifyRequest,
  { chat: asked, session, model: { adapter, isDefault } }: ToAnswer,
  api: AskedChat['api'],
): Omit<AskedChat, 'target'> {
  const { keyId } = callerOf(request);
  const told = readEnvelope(request.headers, asked.session);
  const envelope = session === undefined ? told : envelopeOf(session, told);
  if (envelope.sessionDone && envelope.session === undefined) {
    throw ServingError.INVALID_REQUEST({
      param: 'x-session-done',
      detail: 'x-session-done needs a session.',
    });
  }
  const lane = laneOf(keyId, envelope.session, isDefault ? undefined : adapter);
  return {
    id: ids.make(keyId, lane, api),
    created: Math.floor(Date.now() / 1000),
    api,
    requestId: envelope.requestId ?? request.id,
    lane,
    keyId,
    cacheSalt: cacheSaltOf(keyId),
    adapter,
    envelope,
    ...(session === undefined
      ? { chat: asked }
      : { chat: { ...asked, user: undefined }, rewarded: sessions.rewarded(session) }),
  };
}

/** A client that says which of its own sessions is done does not mean the key's. */
const envelopeOf = ({ session }: Session, told: Envelope): Envelope => ({
  ...told,
  session,
  sessionDone: told.sessionDone && (told.session ?? session) === session,
});

const answerWorld = ({ engine, recorder, metrics, config }: ServingWorld): AnswerWorld => ({
  engine,
  recorder,
  metrics,
  maxRecordBytes: config.maxRecordBytes,
});

type CountedChat = AskedChat & { readonly count: AnswerCount };

/** The answer, counted against what its key may take: also one whose client left. */
async function answerAndCount(
  world: ServingWorld,
  asked: CountedChat,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<Finished> {
  try {
    const finished = await answerChat(answerWorld(world), asked, listener, signal);
    asked.count.took(finished.usage.promptTokens + finished.usage.completionTokens);
    return finished;
  } catch (error) {
    if (signal.aborted && !isEnding(signal)) asked.count.tookPrompt();
    throw error;
  }
}

async function json(
  world: ServingWorld,
  asked: CountedChat,
  form: AnswerForm,
  reply: FastifyReply,
  signal: AbortSignal,
  keep: Keep | undefined,
): Promise<unknown> {
  const ignored = { onStart: () => {}, onChunk: () => {} };
  const shown = form.show(asked);
  const finished = await answerAndCount(world, asked, ignored, signal);
  await keep?.(asked, finished);
  return reply.header('x-clawloop-version', finished.version).send(shown.body(finished));
}

async function stream(
  world: ServingWorld,
  asked: CountedChat,
  form: AnswerForm,
  reply: FastifyReply,
  signal: AbortSignal,
  keep: Keep | undefined,
): Promise<unknown> {
  const shown = form.show(asked);
  const events = openEventStream(reply);
  try {
    const finished = await answerAndCount(
      world,
      asked,
      {
        onStart: (started) => {
          events.open({ 'x-clawloop-version': String(started.version) });
          shown.first(started).forEach(events.send);
        },
        onChunk: (chunk, choice) => shown.next(chunk, choice).forEach(events.send),
      },
      signal,
    );
    await keep?.(asked, finished);
    shown.last(finished).forEach(events.send);
    events.end(form.endMark);
  } catch (error) {
    if (!events.isOpen()) throw error; // nothing was sent yet: an ordinary error response
    const failure = asServingError(error, mostBodyBytes(world.config, true));
    if (!signal.aborted) logBroken(world, asked, error, failure);
    events.fail(form.failure(failure, asked));
  }
  return reply;
}

/** What the client asked for itself, such as a schema that turns out too costly, is no fault to be traced. */
function logBroken(
  { logger }: ServingWorld,
  { id, requestId }: AskedChat,
  error: unknown,
  failure: ServiceError,
) {
  const { status, code, param, message } = failure;
  if (status >= 500) logger.error({ err: error, id }, 'a stream broke off');
  else logger.warn({ id, request: requestId, code, param, reason: message }, 'a stream was refused amid it');
}
