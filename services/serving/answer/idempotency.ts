import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { canonicalJson } from '../../../shared/chat/canonical-json.ts';
import { contentText } from '../../../shared/chat/message.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { ServingError } from '../errors.ts';
import { openEventStream } from '../http/event-stream.ts';
import type { AcceptedRequest, FinishedAnswer } from './answer.ts';
import type { AnswerForm } from './answer-form.ts';
import type { RecordedAnswer } from './recorded-answers.ts';

const HEADER = 'idempotency-key';

/** The key of a request that the client may repeat; undefined: it has none. @throws ServingError INVALID_REQUEST */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  const key = String(value).trim();
  if (key !== '' && key.length <= 255) return key;
  const detail = 'The header Idempotency-Key must have 1 to 255 characters.';
  throw ServingError.INVALID_REQUEST({ param: HEADER, detail });
}

/** Digest of a request body without its stream settings. */
export function digestOfRequest(api: AcceptedRequest['api'], body: unknown): string {
  const fields = Object.entries(body as object).filter(([name]) => !/^stream(_options)?$/.test(name));
  return createHash('sha256')
    .update(canonicalJson([api, Object.fromEntries(fields)]))
    .digest('hex');
}

/** An answer that was cut short is not replayed; a repeated request gets a new answer. */
export const isWholeAnswer = ({ choices }: FinishedAnswer): boolean =>
  choices.every(({ generated }) => generated.finishReason !== 'aborted');

/** Sends a recorded answer again, in the form of the current request. This is not a second turn. */
export function replayAnswer(
  accepted: AcceptedRequest,
  form: AnswerForm,
  { finished }: RecordedAnswer,
  reply: FastifyReply,
) {
  const view = form.show(accepted, 'replay');
  const headers = { 'x-clawloop-version': String(finished.version), 'idempotent-replayed': 'true' };
  if (!accepted.chat.stream) return reply.headers(headers).send(view.body(finished));
  const events = openEventStream(reply);
  events.open(headers);
  const { version, usage, choices } = finished;
  view.first({ version, promptTokens: usage.promptTokens }).forEach(events.send);
  for (const { index, answer, tokens = [] } of choices) {
    const { reasoning_content: reasoning, tool_calls: toolCalls } = answer;
    const chunk = {
      text: contentText(answer.content),
      tokens,
      ...defined({ reasoning: reasoning == null ? undefined : reasoning, toolCalls }),
    };
    view.next(chunk, index).forEach(events.send);
  }
  view.last(finished).forEach(events.send);
  events.end(form.endMark);
  return reply;
}
