import type { ToolCall } from '../../../../shared/events/chat-message.ts';
import type { ServiceError } from '../../../../shared/runtime/errors.ts';
import type { FinishedAnswer } from '../../answer/answer.ts';
import type { Omission } from '../../answer/mark.ts';
import { sequentialCalls } from '../../decoding/sequential-calls.ts';
import type { AnswerChunk, CallPart } from '../../generation.ts';
import { clientMessage } from '../../http/error-body.ts';
import type { Frame } from '../../http/event-stream.ts';
import { withholdLeadingSpace } from '../leading-space.ts';
import { createStreamedItems } from './response-items.ts';
import { endOf, lastItemStatus, responseEnd, type responseHead } from './response-parts.ts';
import type { Namespaces } from './tools.ts';

type Options = { readonly namespaces?: Namespaces; readonly ignored?: readonly Omission[] };

/** The events of a streamed response in OpenAI's order: one item after another. */
export function responseEvents(
  head: ReturnType<typeof responseHead>,
  { namespaces = new Map(), ignored = [] }: Options = {},
) {
  let sequence = 0;
  const leadingSpace = withholdLeadingSpace();
  /** Ids of the calls sent so far. */
  const calls = new Set<string>();
  const sequential = sequentialCalls();

  const frame = (type: string, data: object): Frame => ({
    event: type,
    data: { type, sequence_number: sequence++, ...data },
  });
  const items = createStreamedItems({ answerId: head.id, namespaces, frame });
  const sendText = (kind: 'reasoning' | 'message', piece: string): readonly Frame[] => [
    ...(items.isOpen(kind) ? [] : items.begin(kind)),
    ...items.add(piece),
  ];
  const sendAnswerText = (piece: string): readonly Frame[] => {
    const text = leadingSpace.next(piece);
    return text === '' ? [] : sendText('message', text);
  };
  const callPart = ({ id, name, arguments: args }: CallPart): readonly Frame[] => {
    calls.add(id);
    return [...(name === undefined ? [] : items.begin('call', { call_id: id, name })), ...items.add(args)];
  };
  /** A whole call, unless its parts were already sent. */
  const wholeCall = ({ id = '', function: { name, arguments: args } }: ToolCall): readonly Frame[] =>
    calls.has(id) ? [] : callPart({ id, name, arguments: args });

  const show = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): readonly Frame[] => [
    ...(reasoning === '' ? [] : sendText('reasoning', reasoning)),
    ...sendAnswerText(text),
    ...callParts.flatMap(callPart),
    ...toolCalls.flatMap(wholeCall),
  ];

  return {
    first: (): readonly Frame[] => [
      frame('response.created', { response: head }),
      frame('response.in_progress', { response: head }),
    ],
    next: (chunk: AnswerChunk): readonly Frame[] => sequential.next(chunk).flatMap(show),
    last: (finished: FinishedAnswer): readonly Frame[] => {
      const end = endOf(finished, ignored);
      const remaining = [
        ...sequential.rest().flatMap(show),
        ...(leadingSpace.rest() === '' || calls.size > 0 ? [] : sendText('message', leadingSpace.rest())),
        ...items.close(lastItemStatus(end)),
      ];
      const response = { ...head, ...responseEnd(end, items.output) };
      return [...remaining, frame(`response.${response.status}`, { response })];
    },
    failure: ({ status, message }: ServiceError): Frame => {
      const error = { code: failureCode(status), message: clientMessage({ status, message }) };
      return frame('response.failed', {
        response: { ...head, status: 'failed', output: items.output, error },
      });
    },
  };
}

/** One of the API's error codes for a response. */
const failureCode = (status: number): string => {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_exceeded' : 'invalid_prompt';
};
