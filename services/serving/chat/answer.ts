import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { monotonicNow, utcNow } from '../../../shared/service/clock.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { AnswerChunk, Choice, Engine, Generated, PolicyTarget, Started } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import type { ServingMetrics } from '../metrics.ts';
import { interactionCompleted, interactionFailed } from '../record/interaction.ts';
import type { Recorder } from '../record/recorder.ts';
import { choiceId } from './answer-ids.ts';
import type { ChatRequest } from './chat-request.ts';
import { type CollectedAnswer, collectAnswer } from './collect-answer.ts';
import type { Finished, FinishedChoice } from './completion.ts';
import type { Envelope } from './envelope.ts';
import { ignoredIn } from './omissions.ts';

export type AskedChat = {
  readonly id: string;
  /** s since the epoch */
  readonly created: number;
  /** The API that was spoken. */
  readonly api: InteractionCompleted['data']['api'];
  readonly requestId: string;
  readonly lane: string;
  readonly keyId: string;
  /** Of the engine's cache; undefined: it is shared. */
  readonly cacheSalt: string | undefined;
  readonly envelope: Envelope;
  readonly chat: ChatRequest;
  readonly adapter: string;
  readonly target: PolicyTarget;
  /** The session protocol's, where a session key asks. */
  readonly rewarded?: RewardedSession | undefined;
};

/** A session that is settled by reward. */
export type RewardedSession = {
  readonly answered: (fact: InteractionCompleted) => void;
  readonly end: () => Promise<unknown>;
};

export type AnswerListener = {
  readonly onStart: (started: Started) => void;
  readonly onChunk: (chunk: AnswerChunk, choice: number) => void;
};

export type AnswerWorld = {
  readonly engine: Pick<Engine, 'name' | 'generate'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly metrics: Pick<ServingMetrics, 'tokens' | 'firstToken'>;
  readonly maxRecordBytes: number;
};

/** Why an answer is cut short that its client would have read on: the service ends. */
export const serverEnds = new Error('the server ends');
export const isEnding = (signal: AbortSignal): boolean => signal.reason === serverEnds;

/**
 * Answers one request and makes a fact of each of its choices, which are siblings: the one that a later
 * request goes on from was kept. Resolves when the facts are durable or known to be lost: only then may a
 * client see how the answers ended. A request that is refused leaves no fact; one that breaks on our side, or
 * whose client left before the first token, leaves `interaction.failed`. Where the signal aborts later, the
 * answers end as they stand, as `aborted`.
 *
 * @throws ServingError
 */
export async function answerChat(
  world: AnswerWorld,
  asked: AskedChat,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<Finished> {
  const { chat, envelope } = asked;
  const startedAt = utcNow();
  const began = monotonicNow();
  const heard = Array.from({ length: chat.generation.choices }, () => collectAnswer(began));
  let isFirst = true;
  let generated: readonly Choice[];
  try {
    generated = await world.engine.generate(
      { ...chat.generation, target: asked.target, cacheSalt: asked.cacheSalt },
      {
        onStart: listener.onStart,
        onChunk: (chunk, choice) => {
          if (isFirst) world.metrics.firstToken.observe((monotonicNow() - began) / 1000);
          isFirst = false;
          heard[choice]!.add(chunk);
          listener.onChunk(chunk, choice);
        },
      },
      signal,
    );
  } catch (error) {
    if (signal.aborted) {
      if (isEnding(signal)) {
        await recordFailure(world, asked, 'stopping', 'The server stopped before the first token.');
        throw ServingError.STOPPING({ retryAfterSeconds: 1 });
      }
      await recordFailure(world, asked, 'client-disconnected', 'The client left before the first token.');
      throw ServingError.CLIENT_LEFT();
    }
    const failure = asEngineFailure(error);
    if (failure.status >= 500) await recordFailure(world, asked, failure.code, failure.message);
    throw failure;
  }
  const timing = { startedAt, totalMs: monotonicNow() - began };
  const disconnected = signal.aborted && !isEnding(signal);
  const choices: FinishedChoice[] = [];
  // The first one last: of equal answers the latest counts, and the first has the completion's own id.
  for (const choice of generated.toReversed()) {
    const answer = heard[choice.index]!;
    const data = factOf(world, asked, choice, { answer, timing, disconnected });
    const fact = interactionCompleted(data, envelope.traceparent, world.maxRecordBytes);
    const recorded = await world.recorder.record(fact);
    if (recorded) asked.rewarded?.answered(fact);
    const tokens = chat.generation.topLogProbs === undefined ? undefined : answer.tokens();
    choices.unshift({ ...choice, answer: data.answer, tokens, recorded });
  }
  if (envelope.sessionDone && asked.rewarded !== undefined) await asked.rewarded.end();
  else if (envelope.sessionDone && envelope.session !== undefined) {
    await world.recorder.record(sessionEnded(asked, envelope.session));
  }
  const usage = usageOf(generated);
  world.metrics.tokens.inc({ kind: 'prompt' }, usage.promptTokens);
  world.metrics.tokens.inc({ kind: 'completion' }, usage.completionTokens);
  return { version: generated[0]!.generated.version, choices, usage };
}

/** The prompt is read once, and counted once. */
const usageOf = (choices: readonly Choice[]): Generated['usage'] => ({
  ...choices[0]!.generated.usage,
  completionTokens: choices.reduce((sum, { generated }) => sum + generated.usage.completionTokens, 0),
});

type Heard = {
  readonly answer: CollectedAnswer;
  readonly timing: Omit<InteractionCompleted['data']['timing'], 'firstTokenMs'>;
  readonly disconnected: boolean;
};

function factOf(
  world: AnswerWorld,
  { id, chat, envelope, ...asked }: AskedChat,
  { index, generated }: Choice,
  { answer, timing, disconnected }: Heard,
): InteractionCompleted['data'] {
  return {
    interactionId: choiceId(id, index),
    requestId: asked.requestId,
    api: asked.api,
    lane: asked.lane,
    key: asked.keyId,
    adapter: asked.adapter,
    live: asked.target.kind === 'live',
    settle: asked.rewarded === undefined ? 'votes' : 'reward',
    ...(envelope.session === undefined ? {} : { session: envelope.session }),
    ...(envelope.turnType === undefined ? {} : { turnType: envelope.turnType }),
    ...(chat.user === undefined ? {} : { user: chat.user }),
    ...(chat.response === undefined ? {} : { response: { ...chat.response, created_at: asked.created } }),
    model: chat.model,
    ...ignoredIn(chat.ignored),
    messages: chat.generation.messages,
    ...(chat.tools === undefined ? {} : { tools: chat.tools }),
    answer: answer.message(),
    sampling: generated.sampling,
    tokens: generated.tokens,
    ...(generated.untrainable === undefined ? {} : { untrainable: generated.untrainable }),
    version: generated.version,
    engine: world.engine.name,
    ...(generated.windowCut === undefined ? {} : { windowCut: generated.windowCut }),
    ...templateInputOf(chat, generated),
    finishReason: generated.finishReason,
    ...(generated.engineFinishReason === undefined
      ? {}
      : { engineFinishReason: generated.engineFinishReason }),
    disconnected,
    timing: { ...timing, firstTokenMs: answer.firstTokenMs() },
    usage: generated.usage,
  };
}

/** Nothing, where the template was given the request's messages and tools and no more. */
function templateInputOf(
  { generation, tools }: ChatRequest,
  { window }: Pick<Generated, 'window'>,
): Pick<InteractionCompleted['data'], 'templateInput'> {
  const { templateVariables } = generation;
  const given = window?.tools ?? generation.tools;
  const templateInput = {
    ...(window === undefined ? {} : { messages: window.messages }),
    ...(given.length === (tools?.length ?? 0) ? {} : { tools: given }),
    ...(Object.keys(templateVariables).length === 0 ? {} : { variables: templateVariables }),
  };
  return Object.keys(templateInput).length === 0 ? {} : { templateInput };
}

const asEngineFailure = (error: unknown) =>
  isServiceError(error) ? error : ServingError.ENGINE_FAILED({ detail: (error as Error).message });

async function recordFailure(
  world: AnswerWorld,
  asked: AskedChat,
  code: string,
  message: string,
): Promise<void> {
  const { id, requestId, lane, keyId, adapter } = asked;
  const data = { interactionId: id, requestId, lane, key: keyId, adapter, code, message };
  await world.recorder.record(interactionFailed(data, asked.envelope.traceparent));
}

const sessionEnded = ({ id, lane, keyId }: AskedChat, session: string): SessionEnded =>
  SessionEnded.create({
    id: `${id}/session-ended`,
    source: 'clawloop/serving',
    time: utcNow(),
    data: { lane, key: keyId, session, reason: 'explicit' },
  });
