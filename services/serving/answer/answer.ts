import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { monotonicNow, utcNow } from '../../../shared/runtime/clock.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import { traceparentOf } from '../../../shared/tracing/trace-context.ts';
import { ServingError } from '../errors.ts';
import type {
  AnswerChunk,
  Choice,
  Engine,
  Generated,
  PolicyTarget,
  ShownToken,
  Started,
} from '../generation.ts';
import type { ServingMetrics } from '../metrics.ts';
import type { RewardedSession } from '../sessions/sessions.ts';
import { choiceId } from './answer-ids.ts';
import type { ChatRequest } from './chat-request.ts';
import { type CollectedAnswer, collectAnswer } from './collect-answer.ts';
import type { Envelope } from './envelope.ts';
import { interactionCompleted, interactionFailed } from './interaction.ts';
import { ignoredOf } from './mark.ts';
import type { Recorder } from './recorder.ts';

/** A chat request with the ids, lane and policy that its answer gets. */
export type AcceptedRequest = {
  readonly id: string;
  /** s since 1970 */
  readonly created: number;
  /** API of the request. */
  readonly api: InteractionCompleted['data']['api'];
  readonly requestId: string;
  readonly lane: string;
  readonly keyId: string;
  /** Salt of the engine's prompt cache; undefined: the cache is shared. */
  readonly cacheSalt: string | undefined;
  readonly envelope: Envelope;
  readonly chat: ChatRequest;
  readonly adapter: string;
  readonly target: PolicyTarget;
  /** Set if a session key sent the request. */
  readonly rewarded?: RewardedSession | undefined;
};

type FinishedChoice = Choice & {
  readonly answer: ChatMessage;
  /** Undefined: the client did not request logprobs. */
  readonly tokens: readonly ShownToken[] | undefined;
  readonly recorded: boolean;
};

/** A complete answer: at least one choice; fewer than requested only if it was cut short. */
export type FinishedAnswer = {
  readonly version: number;
  readonly choices: readonly FinishedChoice[];
  /** Totals of all choices. */
  readonly usage: Generated['usage'];
};

export type AnswerListener = {
  readonly onStart: (started: Started) => void;
  readonly onChunk: (chunk: AnswerChunk, choice: number) => void;
};

export type GenerationDeps = {
  readonly engine: Pick<Engine, 'name' | 'generate'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly metrics: Pick<ServingMetrics, 'tokens' | 'firstToken'>;
  readonly maxRecordBytes: number;
  /** whether traces are exported; default: they are not */
  readonly traces?: boolean;
};

/** The first choice has the completion's own id, so its span stands for the request to the engine. */
const passedOn = ({ id, envelope }: AcceptedRequest): string => traceparentOf(id, envelope.traceparent);

/** Abort reason of open answers when the service stops. */
export const serverEnds = new Error('the server ends');
export const isEnding = (signal: AbortSignal): boolean => signal.reason === serverEnds;

/**
 * Answers one request and records an event for each choice. Choices are siblings: the client kept the one that
 * a later request continues. Resolves when the events are durable or known to be lost; until then, no client may
 * see the end of an answer. A refused request records nothing. A request that fails in the server, or whose client
 * leaves before the first token, records `interaction.failed`. If the signal aborts later, the answers end where
 * they are, as `aborted`.
 *
 * @throws ServingError
 */
export async function answerChat(
  deps: GenerationDeps,
  accepted: AcceptedRequest,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<FinishedAnswer> {
  const { chat } = accepted;
  const startedAt = utcNow();
  const began = monotonicNow();
  const collected = Array.from({ length: chat.generation.choices }, () => collectAnswer(began));
  let isFirst = true;
  const onChunk = (chunk: AnswerChunk, choice: number) => {
    if (isFirst) deps.metrics.firstToken.observe((monotonicNow() - began) / 1000);
    isFirst = false;
    collected[choice]!.add(chunk);
    listener.onChunk(chunk, choice);
  };
  let generated: readonly Choice[];
  try {
    generated = await deps.engine.generate(
      {
        ...chat.generation,
        target: accepted.target,
        cacheSalt: accepted.cacheSalt,
        ...defined({ traceparent: deps.traces ? passedOn(accepted) : undefined }),
      },
      { onStart: listener.onStart, onChunk },
      signal,
    );
  } catch (error) {
    throw await recordedFailure(deps, accepted, error, signal);
  }
  const timing = { startedAt, totalMs: monotonicNow() - began };
  const disconnected = signal.aborted && !isEnding(signal);
  const choices: FinishedChoice[] = [];
  // In reverse order: of equal answers the latest counts, and the first choice has the completion's own id.
  for (const choice of generated.toReversed()) {
    const answer = collected[choice.index]!;
    const { message, recorded } = await recordChoice(deps, accepted, choice, {
      answer,
      timing,
      disconnected,
    });
    const tokens = chat.generation.topLogProbs === undefined ? undefined : answer.tokens();
    choices.unshift({ ...choice, answer: message, tokens, recorded });
  }
  await endSessionIfDone(deps, accepted);
  const usage = usageOf(generated);
  deps.metrics.tokens.inc({ kind: 'prompt' }, usage.promptTokens);
  deps.metrics.tokens.inc({ kind: 'completion' }, usage.completionTokens);
  return { version: generated[0]!.generated.version, choices, usage };
}

/** The error to throw for a generation that failed; its event is recorded. */
async function recordedFailure(
  deps: GenerationDeps,
  accepted: AcceptedRequest,
  error: unknown,
  signal: AbortSignal,
): Promise<Error> {
  if (signal.aborted && isEnding(signal)) {
    await recordFailure(deps, accepted, 'stopping', 'The server stopped before the first token.');
    return ServingError.STOPPING({ retryAfterSeconds: 1 });
  }
  if (signal.aborted) {
    await recordFailure(deps, accepted, 'client-disconnected', 'The client left before the first token.');
    return ServingError.CLIENT_LEFT();
  }
  const failure = asEngineFailure(error);
  if (failure.status >= 500) await recordFailure(deps, accepted, failure.code, failure.message);
  return failure;
}

async function recordChoice(
  deps: GenerationDeps,
  accepted: AcceptedRequest,
  choice: Choice,
  generation: Generation,
): Promise<{ readonly message: ChatMessage; readonly recorded: boolean }> {
  const data = eventData(deps, accepted, choice, generation);
  const event = interactionCompleted(data, accepted.envelope.traceparent, deps.maxRecordBytes);
  const recorded = await deps.recorder.record(event);
  if (recorded) accepted.rewarded?.answered(event);
  return { message: data.answer, recorded };
}

async function endSessionIfDone(deps: GenerationDeps, accepted: AcceptedRequest): Promise<void> {
  const { envelope, rewarded } = accepted;
  if (!envelope.sessionDone) return;
  if (rewarded !== undefined) await rewarded.end();
  else if (envelope.session !== undefined)
    await deps.recorder.record(sessionEnded(accepted, envelope.session));
}

/** The choices share one prompt, which counts once. */
const usageOf = (choices: readonly Choice[]): Generated['usage'] => ({
  ...choices[0]!.generated.usage,
  completionTokens: choices.reduce((sum, { generated }) => sum + generated.usage.completionTokens, 0),
});

type Generation = {
  readonly answer: CollectedAnswer;
  readonly timing: Omit<InteractionCompleted['data']['timing'], 'firstTokenMs'>;
  readonly disconnected: boolean;
};

function eventData(
  { engine }: GenerationDeps,
  { id, chat, envelope, ...accepted }: AcceptedRequest,
  { index, generated }: Choice,
  { answer, timing, disconnected }: Generation,
): InteractionCompleted['data'] {
  return {
    interactionId: choiceId(id, index),
    requestId: accepted.requestId,
    api: accepted.api,
    lane: accepted.lane,
    key: accepted.keyId,
    adapter: accepted.adapter,
    live: accepted.target.kind === 'live',
    settle: accepted.rewarded === undefined ? 'votes' : 'reward',
    ...defined({
      session: envelope.session,
      turnType: envelope.turnType,
      user: chat.user,
      response: chat.response === undefined ? undefined : { ...chat.response, created_at: accepted.created },
    }),
    model: chat.model,
    ...ignoredOf(chat.ignored),
    messages: chat.generation.messages,
    ...defined({ tools: chat.tools }),
    answer: answer.message(),
    sampling: generated.sampling,
    tokens: generated.tokens,
    ...defined({ untrainable: generated.untrainable }),
    version: generated.version,
    engine: engine.name,
    ...defined({ windowCut: generated.windowCut }),
    ...templateInputOf(chat, generated),
    finishReason: generated.finishReason,
    ...defined({ engineFinishReason: generated.engineFinishReason }),
    disconnected,
    timing: { ...timing, firstTokenMs: answer.firstTokenMs() },
    usage: generated.usage,
  };
}

/** Empty if the chat template received only the request's own messages and tools. */
function templateInputOf(
  { generation, tools }: ChatRequest,
  { window }: Pick<Generated, 'window'>,
): Pick<InteractionCompleted['data'], 'templateInput'> {
  const { templateVariables } = generation;
  const shownTools = window?.tools ?? generation.tools;
  const templateInput = {
    ...defined({
      messages: window === undefined ? undefined : window.messages,
      tools: shownTools.length === (tools?.length ?? 0) ? undefined : shownTools,
      variables: Object.keys(templateVariables).length === 0 ? undefined : templateVariables,
    }),
  };
  return Object.keys(templateInput).length === 0 ? {} : { templateInput };
}

const asEngineFailure = (error: unknown) =>
  isServiceError(error) ? error : ServingError.ENGINE_FAILED({ detail: (error as Error).message });

async function recordFailure(
  deps: GenerationDeps,
  accepted: AcceptedRequest,
  code: string,
  message: string,
): Promise<void> {
  const { id, requestId, lane, keyId, adapter } = accepted;
  const data = { interactionId: id, requestId, lane, key: keyId, adapter, code, message };
  await deps.recorder.record(interactionFailed(data, accepted.envelope.traceparent));
}

const sessionEnded = ({ id, lane, keyId }: AcceptedRequest, session: string): SessionEnded =>
  SessionEnded.create({
    id: `${id}/session-ended`,
    source: 'clawloop/serving',
    time: utcNow(),
    data: { lane, key: keyId, session, reason: 'explicit' },
  });
