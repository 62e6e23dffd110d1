import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { canonicalJson } from '../../../shared/chat/canonical-json.ts';
import { contentText } from '../../../shared/chat/message.ts';
import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import { ServingError } from '../errors.ts';
import type { RecordedAnswer } from '../record/recorded-answers.ts';
import type { AnswerForm } from './answer-form.ts';
import { openEventStream } from './event-stream.ts';

const HEADER = 'idempotency-key';

/** What a client calls a request that it may send again. @throws ServingError INVALID_REQUEST */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  const key = String(value).trim();
  if (key !== '' && key.length <= 255) return key;
  const detail = 'The header Idempotency-Key has 1 to 255 characters.';
  throw ServingError.INVALID_REQUEST({ param: HEADER, detail });
}

/** Of what is asked for; whether it is streamed is not part of that. */
export function digestOfRequest(api: AskedChat['api'], body: unknown): string {
  const asked = Object.entries(body as object).filter(([name]) => !/^stream(_options)?$/.test(name));
  return createHash('sha256')
    .update(canonicalJson([api, Object.fromEntries(asked)]))
    .digest('hex');
}

/** An answer that was cut short is none: whoever asks again is answered anew. */
export const isWholeAnswer = ({ choices }: Finished): boolean =>
  choices.every(({ generated }) => generated.finishReason !== 'aborted');

/** Tells a recorded answer once more, in the form that is asked for now. It is no second turn. */
export function tellAgain(
  asked: AskedChat,
  form: AnswerForm,
  { finished }: RecordedAnswer,
  reply: FastifyReply,
) {
  const shown = form.show(asked, 'again');
  const headers = { 'x-clawloop-version': String(finished.version), 'idempotent-replayed': 'true' };
  if (!asked.chat.stream) return reply.headers(headers).send(shown.body(finished));
  const events = openEventStream(reply);
  events.open(headers);
  const { version, usage, choices } = finished;
  shown.first({ version, promptTokens: usage.promptTokens }).forEach(events.send);
  for (const { index, answer, tokens = [] } of choices) {
    const { reasoning_content: reasoning, tool_calls: toolCalls } = answer;
    const chunk = {
      text: contentText(answer.content),
      tokens,
      ...(reasoning == null ? {} : { reasoning }),
      ...(toolCalls === undefined ? {} : { toolCalls }),
    };
    shown.next(chunk, index).forEach(events.send);
  }
  shown.last(finished).forEach(events.send);
  events.end(form.endMark);
  return reply;
}
