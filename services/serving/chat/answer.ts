import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { monotonicNow, utcNow } from '../../../shared/service/clock.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { AnswerChunk, Engine, Generated, PolicyTarget, ShownToken, Started } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import type { ServingMetrics } from '../metrics.ts';
import { interactionCompleted, interactionFailed } from '../record/interaction.ts';
import type { Recorder } from '../record/recorder.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Finished } from './completion.ts';
import type { Envelope } from './envelope.ts';

export type AskedChat = {
  readonly id: string;
  readonly requestId: string;
  readonly lane: string;
  readonly keyId: string;
  readonly envelope: Envelope;
  readonly chat: ChatRequest;
  readonly target: PolicyTarget;
};

export type AnswerListener = {
  readonly onStart: (started: Started) => void;
  readonly onChunk: (chunk: AnswerChunk) => void;
};

export type AnswerWorld = {
  readonly engine: Pick<Engine, 'name' | 'generate'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly metrics: Pick<ServingMetrics, 'tokens' | 'firstToken'>;
  readonly adapter: string;
  readonly maxRecordBytes: number;
};

/** Why an answer is cut short that its client would have read on: the service ends. */
export const serverEnds = new Error('the server ends');
const isEnding = (signal: AbortSignal): boolean => signal.reason === serverEnds;

/**
 * Answers one request and makes a fact of it. Resolves when the fact is durable or known to be lost: only
 * then may a client see how the answer ended. A request that is refused leaves no fact; one that breaks on
 * our side, or whose client left before the first token, leaves `interaction.failed`. Where the signal aborts
 * later, the answer ends as it stands, as `aborted`.
 *
 * @throws ServingError
 */
export async function answerChat(
  world: AnswerWorld,
  asked: AskedChat,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<Finished> {
  const startedAt = utcNow();
  const began = monotonicNow();
  const heard = collectAnswer();
  let firstTokenMs: number | null = null;
  let generated: Generated;
  try {
    generated = await world.engine.generate(
      { ...asked.chat.generation, target: asked.target },
      {
        onStart: listener.onStart,
        onChunk: (chunk) => {
          if (firstTokenMs === null) {
            firstTokenMs = monotonicNow() - began;
            world.metrics.firstToken.observe(firstTokenMs / 1000);
          }
          heard.add(chunk);
          listener.onChunk(chunk);
        },
      },
      signal,
    );
  } catch (error) {
    if (signal.aborted) {
      const [code, message] = isEnding(signal)
        ? ['stopping', 'The server stopped before the first token.']
        : ['client-disconnected', 'The client left before the first token.'];
      await recordFailure(world, asked, code!, message!);
      throw ServingError.STOPPING({ retryAfterSeconds: 1 });
    }
    const failure = asEngineFailure(error);
    if (failure.status >= 500) await recordFailure(world, asked, failure.code, failure.message);
    throw failure;
  }
  world.metrics.tokens.inc({ kind: 'prompt' }, generated.usage.promptTokens);
  world.metrics.tokens.inc({ kind: 'completion' }, generated.usage.completionTokens);
  const answer = heard.message();
  const { chat, envelope } = asked;
  const data: InteractionCompleted['data'] = {
    interactionId: asked.id,
    requestId: asked.requestId,
    api: 'chat',
    lane: asked.lane,
    key: asked.keyId,
    adapter: world.adapter,
    live: asked.target.kind === 'live',
    settle: 'votes',
    ...(envelope.session === undefined ? {} : { session: envelope.session }),
    ...(envelope.turnType === undefined ? {} : { turnType: envelope.turnType }),
    model: chat.model,
    messages: chat.generation.messages,
    ...(chat.tools === undefined ? {} : { tools: chat.tools }),
    answer,
    sampling: generated.sampling,
    tokens: generated.tokens,
    ...(generated.untrainable === undefined ? {} : { untrainable: generated.untrainable }),
    version: generated.version,
    engine: world.engine.name,
    ...(generated.windowCut === undefined ? {} : { windowCut: generated.windowCut }),
    ...templateInputOf(chat, generated),
    finishReason: generated.finishReason,
    disconnected: signal.aborted && !isEnding(signal),
    timing: { startedAt, firstTokenMs, totalMs: monotonicNow() - began },
    usage: generated.usage,
  };
  const fact = interactionCompleted(data, envelope.traceparent, world.maxRecordBytes);
  const recorded = await world.recorder.record(fact);
  if (envelope.sessionDone && envelope.session !== undefined) {
    await world.recorder.record(sessionEnded(asked, envelope.session));
  }
  const tokens = chat.generation.topLogProbs === undefined ? undefined : heard.tokens();
  return { generated, answer, tokens, recorded };
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
  const { id, requestId, lane, keyId } = asked;
  const data = { interactionId: id, requestId, lane, key: keyId, adapter: world.adapter, code, message };
  await world.recorder.record(interactionFailed(data, asked.envelope.traceparent));
}

const sessionEnded = ({ id, lane, keyId }: AskedChat, session: string): SessionEnded =>
  SessionEnded.create({
    id: `${id}/session-ended`,
    source: 'clawloop/serving',
    time: utcNow(),
    data: { lane, key: keyId, session, reason: 'explicit' },
  });

function collectAnswer() {
  let text = '';
  let reasoning = '';
  const toolCalls: ToolCall[] = [];
  const tokens: ShownToken[] = [];
  return {
    add: (chunk: AnswerChunk) => {
      text += chunk.text;
      reasoning += chunk.reasoning ?? '';
      toolCalls.push(...(chunk.toolCalls ?? []));
      tokens.push(...chunk.tokens);
    },
    tokens: (): readonly ShownToken[] => tokens,
    message: (): ChatMessage => ({
      role: 'assistant',
      content: toolCalls.length > 0 && text.trim() === '' ? null : text,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    }),
  };
}
