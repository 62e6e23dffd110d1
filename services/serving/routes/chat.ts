import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AnswerWorld, type AskedChat, answerChat } from '../chat/answer.ts';
import { type ChatRequest, parseChatRequest } from '../chat/chat-request.ts';
import { type CompletionHead, completionBody, completionChunks } from '../chat/completion.ts';
import { readEnvelope } from '../chat/envelope.ts';
import { choiceId, laneOf, newCompletionId } from '../chat/lane.ts';
import { chooseModel } from '../chat/model-name.ts';
import type { ServingConfig } from '../config.ts';
import type { PolicyTarget } from '../engine/engine.ts';
import { asServingError, errorBody } from '../error-body.ts';
import { ServingError } from '../errors.ts';
import { callerOf } from '../server.ts';
import { abortOnDisconnect } from './disconnect.ts';
import { openEventStream } from './event-stream.ts';
import type { ServingWorld } from './world.ts';

/** OpenAI's chat completions, as JSON or as a stream. */
export function registerChat(server: FastifyInstance, world: ServingWorld): void {
  const handler = (request: FastifyRequest, reply: FastifyReply) => chat(world, request, reply);
  server.post('/v1/chat/completions', handler);
  server.post('/chat/completions', handler);
}

async function chat(world: ServingWorld, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { keyId } = callerOf(request);
  const { maxConcurrentPerKey } = world.config;
  const chatRequest = parseChatRequest(request.body);
  const { choices } = chatRequest.generation;
  refuseTooMany(world.config, choices);
  const leave = world.limit.enter(keyId, choices);
  if (leave === undefined) {
    throw ServingError.TOO_MANY_REQUESTS({ limit: maxConcurrentPerKey, retryAfterSeconds: 1 });
  }
  world.metrics.open.inc();
  try {
    const asked = await readAsked(world, request, chatRequest, keyId);
    const head: CompletionHead = {
      id: asked.id,
      model: asked.chat.model,
      created: Math.floor(Date.now() / 1000),
    };
    for (let choice = 0; choice < choices; choice++) world.owners.remember(choiceId(asked.id, choice), keyId);
    const signal = AbortSignal.any([abortOnDisconnect(reply.raw), world.ending]);
    return await (asked.chat.stream ? stream : json)(world, asked, head, reply, signal);
  } finally {
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

async function readAsked(
  world: ServingWorld,
  request: FastifyRequest,
  chatRequest: ChatRequest,
  keyId: string,
): Promise<AskedChat> {
  const envelope = readEnvelope(request.headers, chatRequest.session);
  if (envelope.sessionDone && envelope.session === undefined) {
    throw ServingError.INVALID_REQUEST({
      param: 'x-session-done',
      detail: 'x-session-done needs a session.',
    });
  }
  const target = await targetOf(world, chatRequest.model);
  const lane = laneOf(keyId, envelope.session);
  return {
    id: newCompletionId(lane),
    requestId: envelope.requestId ?? request.id,
    lane,
    keyId,
    envelope,
    chat: chatRequest,
    target,
  };
}

async function targetOf({ config, head, unserved }: ServingWorld, model: string): Promise<PolicyTarget> {
  const choice = chooseModel(model, config.modelAlias, config.strictModels);
  if (choice.kind === 'live') {
    const detail = unserved();
    if (detail !== undefined) throw ServingError.NOTHING_SERVED({ detail, retryAfterSeconds: 5 });
    return choice;
  }
  if (choice.kind === 'unknown')
    throw ServingError.MODEL_NOT_FOUND({ param: 'model', model: model.slice(0, 200) });
  let version = await head.find(choice.version);
  if (version === undefined) {
    await head.reachEnd();
    version = await head.find(choice.version);
  }
  if (version === undefined)
    throw ServingError.MODEL_NOT_FOUND({ param: 'model', model: model.slice(0, 200) });
  return { kind: 'pinned', ...version };
}

const answerWorld = ({ config, ...world }: ServingWorld): AnswerWorld => ({
  ...world,
  adapter: config.adapter,
  maxRecordBytes: config.maxRecordBytes,
});

async function json(
  world: ServingWorld,
  asked: AskedChat,
  head: CompletionHead,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<unknown> {
  const ignored = { onStart: () => {}, onChunk: () => {} };
  const finished = await answerChat(answerWorld(world), asked, ignored, signal);
  return reply.header('x-clawloop-version', finished.version).send(completionBody(head, finished));
}

async function stream(
  world: ServingWorld,
  asked: AskedChat,
  head: CompletionHead,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<unknown> {
  const { includeUsage, generation } = asked.chat;
  const chunks = completionChunks(head, { choices: generation.choices, includeUsage });
  const logProbs = generation.topLogProbs !== undefined;
  const events = openEventStream(reply);
  try {
    const finished = await answerChat(
      answerWorld(world),
      asked,
      {
        onStart: ({ version }) => {
          events.open({ 'x-clawloop-version': String(version) });
          chunks.first().forEach(events.send);
        },
        onChunk: (chunk, choice) => events.send(chunks.next(chunk, choice, logProbs)),
      },
      signal,
    );
    chunks.last(finished).forEach(events.send);
    if (includeUsage) events.send(chunks.usage(finished));
    events.end();
  } catch (error) {
    if (!events.isOpen()) throw error; // nothing was sent yet: an ordinary error response
    const failure = asServingError(error, world.config.maxBodyBytes);
    if (!signal.aborted) world.logger.error({ err: error, id: asked.id }, 'a stream broke off');
    events.fail(errorBody(failure));
  }
  return reply;
}
