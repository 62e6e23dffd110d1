import type { FastifyReply } from 'fastify';
import type { ServingConfig } from '../../../shared/config/serving.ts';
import type { ServiceError } from '../../../shared/runtime/errors.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { ServingError } from '../errors.ts';
import type { Engine } from '../generation.ts';
import { countAs } from '../http/counted-status.ts';
import { asServingError } from '../http/error-body.ts';
import { openEventStream } from '../http/event-stream.ts';
import type { AnswerCount } from '../http/key-limits.ts';
import { mostBodyBytes } from '../http/request-bodies.ts';
import type { ServingMetrics } from '../metrics.ts';
import {
  type AcceptedRequest,
  type AnswerListener,
  answerChat,
  type FinishedAnswer,
  type GenerationDeps,
  isEnding,
} from './answer.ts';
import type { AnswerForm } from './answer-form.ts';
import type { Recorder } from './recorder.ts';

/** What sending an answer needs from the process. */
export type SendDeps = {
  readonly config: ServingConfig;
  readonly engine: Engine;
  readonly recorder: Recorder;
  readonly metrics: ServingMetrics;
  readonly logger: Logger;
};

/** Stores an answer for replay before its end is sent. */
export type Keep = (accepted: AcceptedRequest, finished: FinishedAnswer) => Promise<void>;

type CountedRequest = AcceptedRequest & { readonly count: AnswerCount };

type Delivery = {
  readonly accepted: CountedRequest;
  readonly form: AnswerForm;
  readonly reply: FastifyReply;
  readonly signal: AbortSignal;
  readonly keep: Keep | undefined;
};

/** Generates an answer and sends it, whole or as a stream. @throws ServingError while nothing was sent */
export const sendAnswer = (deps: SendDeps, delivery: Delivery): Promise<unknown> =>
  (delivery.accepted.chat.stream ? sendStream : sendJson)(deps, delivery);

const generationDeps = ({ engine, recorder, metrics, config }: SendDeps): GenerationDeps => ({
  engine,
  recorder,
  metrics,
  maxRecordBytes: config.maxRecordBytes,
  traces: config.otlpEndpoint !== undefined,
});

/** Counts the answer against the limits of its key, even if the client left. */
async function answerAndCount(
  deps: SendDeps,
  { accepted, signal }: Delivery,
  listener: AnswerListener,
): Promise<FinishedAnswer> {
  try {
    const finished = await answerChat(generationDeps(deps), accepted, listener, signal);
    accepted.count.took(finished.usage.promptTokens + finished.usage.completionTokens);
    return finished;
  } catch (error) {
    if (signal.aborted && !isEnding(signal)) accepted.count.tookPrompt();
    throw error;
  }
}

async function sendJson(deps: SendDeps, delivery: Delivery): Promise<unknown> {
  const { accepted, form, reply, keep } = delivery;
  const view = form.show(accepted);
  const finished = await answerAndCount(deps, delivery, { onStart: () => {}, onChunk: () => {} });
  await keep?.(accepted, finished);
  return reply.header('x-clawloop-version', finished.version).send(view.body(finished));
}

/**
 * Sends the answer as a stream, which begins with the answer or after `streamKeepAliveMs`. Until then, errors are
 * ordinary error responses, unless clients of the API expect them in a stream.
 */
async function sendStream(deps: SendDeps, delivery: Delivery): Promise<unknown> {
  const { accepted, form, reply, signal, keep } = delivery;
  const view = form.show(accepted);
  let hasStarted = false;
  const events = openEventStream(reply, {
    afterMs: deps.config.streamKeepAliveMs,
    frames: () => {
      if (!hasStarted) countAs(reply.raw, ServingError.CLIENT_LEFT().status); // if it leaves now
      return view.waiting?.() ?? [];
    },
  });
  try {
    const finished = await answerAndCount(deps, delivery, {
      onStart: (started) => {
        hasStarted = true;
        events.open({ 'x-clawloop-version': String(started.version) });
        countAs(reply.raw, reply.raw.statusCode);
        view.first(started).forEach(events.send);
      },
      onChunk: (chunk, choice) => view.next(chunk, choice).forEach(events.send),
    });
    await keep?.(accepted, finished);
    view.last(finished).forEach(events.send);
    events.end(form.endMark);
  } catch (error) {
    const failure = asServingError(error, mostBodyBytes(deps.config, true));
    if (!events.isOpen() && !form.reportsInStream?.(failure)) throw error;
    if (!hasStarted) countAs(reply.raw, failure.status);
    // before an answer, a client error is an ordinary refusal, which is not logged
    if (!signal.aborted && (hasStarted || failure.status >= 500)) logBroken(deps, accepted, error, failure);
    events.open();
    events.fail(form.failure(failure, accepted));
  } finally {
    events.stopWaiting();
  }
  return reply;
}

/** A temporary condition, or a client error such as a schema that turns out too costly, needs no stack trace. */
function logBroken(
  { logger }: SendDeps,
  { id, requestId: request }: AcceptedRequest,
  error: unknown,
  failure: ServiceError,
) {
  const { status, code, param, message: reason } = failure;
  if (status === 503) logger.warn({ id, request, code, reason }, 'service unavailable');
  else if (status >= 500) logger.error({ err: error, id }, 'stream failed');
  else logger.warn({ id, request, code, param, reason }, 'stream ended with a client error');
}
